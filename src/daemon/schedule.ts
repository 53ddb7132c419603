import { EventEmitter } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import cron, { type ScheduledTask } from 'node-cron';
import type { Logger } from 'winston';
import { appendAudit } from '../audit/audit-log.js';
import { prepareReadBack } from '../inbound/orders/read-back.js';
import { endWriteBackAlerts } from '../inbound/write-back/write-back-alerts.js';
import type { JobContext } from '../ops/job-context.js';
import { deliver } from '../outbound/deliver/deliver.js';
import { recallRequests } from '../outbound/deliver/lane-keeper.js';
import { ServiceLease } from '../outbound/deliver/service-lease.js';
import { openDispatcher } from '../outbound/dispatch/cluster-dispatcher.js';
import { type DaemonPartners, type Job, type Scheduler, scheduleJobs } from './daemon-jobs.js';

const retryMs = 5_000;
/** The longest time of a statement of the store: twice its wait for a lock, on a large store and a slow disk as well. */
const answerWithinMs = 120_000;

/**
 * The daemon: waits for the service lease, then runs the jobs by the clock and delivers all the time, until `signal` aborts.
 * A daemon without the lease stands by and does nothing, so that there is one of each job.
 */
export async function runSchedule(context: JobContext, partners: DaemonPartners, signal: AbortSignal): Promise<void> {
  context.store.answerWithinMs = answerWithinMs;
  await keepTrying(context, partners, signal, () => note(context, 'start'));
  let said = '';
  try {
    while (!signal.aborted) {
      partners.beat?.();
      const answer = await keepTrying(context, partners, signal, () => ServiceLease.acquire(context, signal, 'node'));
      if (!answer) break;
      if (answer instanceof ServiceLease) {
        said = '';
        await work(context, partners, answer, signal);
        await rest(100, signal);
        continue;
      }
      if (said !== answer.holder)
        context.log.info('Standing by: another process has the delivery lease', { holder: answer.holder });
      said = answer.holder;
      await rest(Math.min(answer.freeInMs + 100, 2_000), signal);
    }
  } finally {
    await note(context, 'stop').catch((error: Error) =>
      context.log.error('The stop is not on record', { error: error.message }),
    );
  }
}

/** Everything that is done while the lease is ours. Ends when it is lost or when we are told to stop. */
async function work(
  context: JobContext,
  partners: DaemonPartners,
  lease: ServiceLease,
  stop: AbortSignal,
): Promise<void> {
  const { settings, store, log, nowMs } = context;
  const where = { epoch: lease.lease.epoch, environment: settings.service.environment };
  const ending = new AbortController();
  const signal = AbortSignal.any([stop, ending.signal]);
  const scheduler = new JobScheduler(log, settings.schedule.timeZone, signal, partners.beat, () => lease.leads);
  let stopListening = () => {};
  let closeDispatcher = async () => {};
  try {
    const lead = async () => {
      await prepareReadBack(context, lease);
      if (!partners.writer)
        await store.transaction('end the alerts of the write-back', (tx) => endWriteBackAlerts(tx, nowMs()));
    };
    if (lease.membership) await lease.membership.begin(partners.client.rateLimiter);
    else await recallRequests(context, partners.client.rateLimiter, lease);
    if (lease.leads) await lead();
    const news = new EventEmitter();
    const { begin, announce } = scheduleJobs(context, { ...partners, news }, lease, scheduler, signal);
    partners.webhooks?.on('event', announce);
    stopListening = () => partners.webhooks?.off('event', announce);
    if (lease.leads) begin();
    if (lease.membership)
      lease.membership.onLead = () =>
        void lead()
          .catch((error: Error) => log.error('This node could not prepare to lead', { error: error.message }))
          .finally(begin);
    const dispatcher = await openDispatcher(context);
    closeDispatcher = async () => dispatcher?.close();
    const result = await deliver(context, partners.client, lease, {
      untilDrained: false,
      scope: { only: null },
      retryHorizonMs: 0,
      trial: false,
      erp: partners.reader,
      dispatcher,
      signal,
      news,
      onHeld: (reason) =>
        reason === null
          ? log.info('Delivering from here', where)
          : log.warn('Nothing is delivered from here', { ...where, reason }),
    });
    if (result.stopped && !stop.aborted) log.warn('delivery stopped', { reason: result.stopped });
  } catch (error) {
    // Said at once: a job that has to end first may take its time.
    log.error('Delivery failed; starting over', { error: (error as Error).message });
  } finally {
    // Delivery has drained. The jobs stop next, and the lease goes last: a successor may begin at once.
    ending.abort();
    stopListening();
    await closeDispatcher().catch((error: Error) =>
      log.error('The dispatcher could not be closed', { error: error.message }),
    );
    await scheduler.stop();
    await lease
      .release()
      .catch((error: Error) => log.error('The lease could not be released', { error: error.message }));
  }
}

/** A store or an ERP that is away for a while must not end a daemon that runs for years. */
async function keepTrying<T>(
  context: JobContext,
  { beat }: DaemonPartners,
  signal: AbortSignal,
  run: () => Promise<T>,
): Promise<T | null> {
  for (;;) {
    beat?.();
    try {
      return await run();
    } catch (error) {
      if (signal.aborted) return null;
      context.log.error('Trying again in a moment', { error: (error as Error).message, inMs: retryMs });
      await rest(retryMs, signal);
      if (signal.aborted) return null;
    }
  }
}

async function rest(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined);
}

async function note(context: JobContext, event: 'start' | 'stop'): Promise<void> {
  const { store, actor, nowMs, settings } = context;
  await store.transaction(`note the ${event}`, (tx) =>
    appendAudit(tx, { event, actor, detail: { environment: settings.service.environment } }, nowMs()),
  );
}

/** The interval at which the scheduler looks if the clock was set, and the least step that counts. */
const lookMs = 1_000;
const leastStepMs = 5_000;

/**
 * The daemon's only scheduler. A job runs by its cron pattern or every so often, and at once when something asks for it. It
 * never overlaps itself; a failure is logged, and the next run tries again.
 */
export class JobScheduler implements Scheduler {
  readonly #planned: { plan: () => ScheduledTask; task: ScheduledTask }[] = [];
  readonly #timers: NodeJS.Timeout[] = [];
  readonly #running = new Set<Promise<unknown>>();

  /**
   * @param signal no job starts once it has aborted
   * @param beat called every second for as long as jobs are started
   * @param isOn whether jobs are for this process to do
   */
  constructor(
    private readonly log: Logger,
    private readonly timeZone: string,
    private readonly signal: AbortSignal,
    private readonly beat: () => void = () => undefined,
    private readonly isOn: () => boolean = () => true,
  ) {
    this.#timers.push(setInterval(this.#clockWatch(), lookMs).unref());
  }

  /** Makes a job of `run`. Asked for while it runs, it answers with the run under way. */
  job(name: string, run: () => Promise<unknown>): Job {
    let current: Promise<unknown> | null = null;
    return () => {
      if (current || this.signal.aborted || !this.isOn()) return current ?? Promise.resolve();
      const started = run()
        .catch((error: Error) => this.log.error(`${name} failed`, { error: error.message }))
        .finally(() => {
          this.#running.delete(started);
          current = null;
        });
      this.#running.add(started);
      current = started;
      return started;
    };
  }

  /** Runs the job from now on whenever the pattern matches (six fields: seconds come first). */
  schedule(name: string, pattern: string, job: Job): void {
    const quietly = (message: string | Error) =>
      this.log.debug(`schedule: ${(message as Error).message ?? message}`, { job: name });
    const logger = { debug: quietly, info: quietly, warn: quietly, error: quietly };
    const timezone = zoneOf(pattern, this.timeZone);
    const plan = () => cron.schedule(pattern, job, { name, timezone, noOverlap: true, logger });
    this.#planned.push({ plan, task: plan() });
  }

  /**
   * Plans every pattern anew when the clock was set: node-cron has worked out a time, and waits for it however far the clock
   * was set back; set forward, it works through every second in between.
   */
  #clockWatch(): () => void {
    const lead = () => Date.now() - performance.now();
    let known = lead();
    return () => {
      this.beat();
      const before = known;
      known = lead();
      const isSet = Math.abs(known - before) > leastStepMs;
      if (!isSet) return;
      this.log.warn('The clock was set; the schedule starts over');
      for (const planned of this.#planned) {
        void planned.task.destroy();
        planned.task = planned.plan();
      }
    };
  }

  /**
   * Runs the job from now on every so many milliseconds. For looks that must go on while the clock is set, where a pattern
   * would wait for a moment.
   */
  every(ms: number, job: Job): void {
    this.#timers.push(setInterval(() => void job(), ms));
  }

  /** Starts no more jobs, and waits for those under way. */
  async stop(): Promise<void> {
    for (const timer of this.#timers.splice(0)) clearInterval(timer);
    for (const { task } of this.#planned.splice(0)) await task.destroy();
    await Promise.allSettled(this.#running);
  }
}

/**
 * The time zone in which node-cron works a pattern out. If clocks are set back, node-cron passes over the hour that
 * comes twice, and every job would rest for so long. A pattern that means the same in all zones (their offsets are
 * multiples of 15 minutes) is therefore worked out in UTC. Pure.
 */
export function zoneOf(pattern: string, timeZone: string): string {
  return /^(\S+ )?\*(\/(1|3|5|15))?( \*){4}$/.test(pattern.trim().replace(/\s+/g, ' ')) ? 'UTC' : timeZone;
}
