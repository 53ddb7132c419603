import type { EventEmitter } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import cron, { type ScheduledTask } from 'node-cron';
import { appendAudit } from '../audit/audit-log.js';
import type { ErpReader } from '../erp/erp-reader.js';
import type { ErpWriter } from '../erp/write-back/erp-writer.js';
import { pull } from '../inbound/invoices/pull.js';
import { prepareReadBack, readOrdersBack } from '../inbound/orders/read-back.js';
import { AnnouncedTurns, endPulled, readAnnounced } from '../inbound/webhooks/read-announced.js';
import { writeBack } from '../inbound/write-back/write-back.js';
import { endWriteBackAlerts } from '../inbound/write-back/write-back-alerts.js';
import { prune } from '../operator/prune.js';
import type { JobContext } from '../ops/job-context.js';
import { capture } from '../outbound/capture/capture.js';
import { deliver } from '../outbound/deliver/deliver.js';
import { recallRequests } from '../outbound/deliver/long-limits.js';
import { QuietClock } from '../outbound/deliver/quiet-hours.js';
import { ServiceLease } from '../outbound/deliver/service-lease.js';
import { tryNewCredential } from '../outbound/deliver/try-new-credential.js';
import type { ServiceClient } from '../service/service-client.js';
import { listJobRuns, type RecordedJob, recordFailure, recordSuccess, takeWakeUps } from '../store/job-runs.js';
import { lookAfterAlerts, type TellAlert } from './alerts.js';

export interface SchedulePartners {
  reader: ErpReader;
  client: ServiceClient;
  /** Absent or null: nothing is written back into the ERP. */
  writer?: ErpWriter | null;
  /** Tells somebody of an alert; absent: nobody is configured. */
  tell?: TellAlert | null;
  /** Emits `event` when this process has stored a webhook that something has to be read for. */
  webhooks?: EventEmitter;
}

const wakeUpPollMs = 1_000;
const announcedPollMs = 250;
const retryMs = 5_000;
const alertPollMs = 2_000;
/** A sweep of the write-back leaves the rest to its next turn after so long. */
const writeBackSweepMs = 20_000;
const credentialPollMs = 2_000;
const readBackPollMs = 5_000;
/** After so long without a prune, one is made up for. */
const missedPruneMs = 48 * 3_600_000;
/** The first look at what is wrong waits for the first capture, but no longer than this. */
const graceMs = 600_000;

/**
 * The daemon: waits for the service lease, then captures and pulls by the clock and delivers all the time, until `signal`.
 * Whoever does not have the lease stands by and does nothing, so that there is one of each job.
 */
export async function runSchedule(context: JobContext, partners: SchedulePartners, signal: AbortSignal): Promise<void> {
  await keepTrying(context, signal, () => note(context, 'start'));
  let said = '';
  try {
    while (!signal.aborted) {
      const answer = await keepTrying(context, signal, () => ServiceLease.acquire(context, signal));
      if (!answer) break;
      if (answer instanceof ServiceLease) {
        said = '';
        await work(context, partners, answer, signal).catch((error: Error) =>
          context.log.error('Delivery failed; starting over', { error: error.message }),
        );
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
  partners: SchedulePartners,
  lease: ServiceLease,
  signal: AbortSignal,
): Promise<void> {
  const { settings, store, log } = context;
  log.info('Delivering from here', { epoch: lease.lease.epoch, environment: settings.service.environment });
  const ending = new AbortController();
  const end = () => ending.abort();
  signal.addEventListener('abort', end, { once: true });
  if (signal.aborted) end();

  const quiet = new QuietClock(settings.schedule);
  const running = new Set<Promise<unknown>>();
  /** A job never overlaps itself; what fails is logged, and the next tick tries again. */
  const job = (name: string, run: () => Promise<unknown>) => {
    let current: Promise<unknown> | null = null;
    return (): Promise<unknown> => {
      if (current || ending.signal.aborted) return current ?? Promise.resolve();
      current = run()
        .catch((error: Error) => log.error(`${name} failed`, { error: error.message }))
        .finally(() => {
          running.delete(current as Promise<unknown>);
          current = null;
        });
      running.add(current);
      return current;
    };
  };
  const captureNow = job('capture', async () => {
    const result = await recorded(context, 'capture', ending.signal, () =>
      capture(context, partners.reader, { signal: ending.signal }),
    );
    if (!result.stopped) await noteRun(context, 'capture', null);
    if (result.captured.orders + result.captured.customers + result.parked > 0)
      log.info('captured', { ...result.captured, parked: result.parked, waiting: result.waiting });
    if (result.stopped && !ending.signal.aborted) log.warn('capture did not run', result.stopped);
  });
  const writeBackNow = job('write-back', async () => {
    const { writer, reader } = partners;
    if (!writer) return;
    const { written, refused } = await writeBack(
      context,
      { writer, reader },
      { signal: ending.signal, sweepMs: writeBackSweepMs },
    );
    if (written.orders + written.customers + written.invoices + refused > 0)
      log.info('Written back into the ERP', { ...written, refused });
  });
  const pullNow = job('pull', async () => {
    if (!settings.invoices.enabled || quiet.isQuiet('pull', context.nowMs())) return;
    const result = await recorded(context, 'pull', ending.signal, () =>
      pull(context, partners.client, lease, { waitsForTurn: true, signal: ending.signal }),
    );
    if (result.outcome === 'proven') await endPulled(context, lease);
    if (result.outcome === 'proven' || result.outcome === 'unproven') await noteRun(context, 'pull', null);
    else if (result.outcome === 'failed' && !ending.signal.aborted)
      await noteRun(context, 'pull', result.reason ?? 'no reason given');
    log.log(result.outcome === 'proven' ? 'info' : 'warn', 'pulled unpaid invoices', result);
    void writeBackNow();
  });
  const turns = new AnnouncedTurns();
  const pullForEvents = job('pull for webhooks', async () => {
    const since = context.nowMs();
    // A pull that was under way already may have passed the place of what changed.
    for (let nth = 0; nth < 2 && !ending.signal.aborted; nth++) {
      await pullNow();
      if (await endPulled(context, lease, since)) return;
    }
  });
  const announcedNow = job('webhooks', async () => {
    if (!turns.take(context.nowMs())) return;
    const result = await readAnnounced(context, partners.client, lease, ending.signal).catch((error: Error) => {
      turns.waitFor(context.nowMs());
      throw error;
    });
    if (result.read > 0) log.info('read what webhooks announced', { records: result.read });
    if (result.waits) turns.waitFor(context.nowMs());
    if (!result.needsPull || !turns.takePull(context.nowMs())) return;
    // What comes while a pull is under way asks for one in vain.
    void pullForEvents().finally(() => turns.waitFor(context.nowMs()));
  });
  const announce = () => {
    turns.announce();
    void announcedNow();
  };
  const pruneNow = job('prune', async () => {
    const removed = await recorded(context, 'prune', ending.signal, () => prune(context, lease.lease, ending.signal));
    if (ending.signal.aborted) return;
    await noteRun(context, 'prune', null);
    log.info('pruned', removed);
  });
  const readBackNow = job('reading orders back', async () => {
    if (!settings.orders.readBack.enabled || quiet.isQuiet('pull', context.nowMs())) return;
    const result = await readOrdersBack(context, partners.client, lease, ending.signal);
    if (result.read + result.gone + result.failed > 0) log.info('read orders back', result);
  });
  /** A machine that is off at night would never prune. */
  const pruneWhenMissed = job('prune', async () => {
    const last = (await store.read('look for the last prune', listJobRuns)).find((run) => run.job === 'prune');
    if (context.nowMs() - (last?.succeededAt ?? 0) > missedPruneMs) await pruneNow();
  });
  const lookForWakeUps = job('wake-up', async () => {
    for (const wakeUp of await store.transaction('take wake-ups', takeWakeUps)) {
      log.info('Woken up', wakeUp);
      if (wakeUp.job === 'webhooks') announce();
      else void (wakeUp.job === 'capture' ? captureNow() : pullNow());
    }
  });

  let settledIn = false;
  const startedAt = performance.now();
  const alertsNow = job('alerts', async () => {
    if (!settledIn && performance.now() - startedAt < graceMs) return;
    await lookAfterAlerts(context, lease.lease, partners.tell ?? null, ending.signal);
  });

  const credentialNow = job('credential', () => tryNewCredential(context, partners.client, lease, true));

  const options = { timezone: settings.schedule.timeZone, noOverlap: true };
  const tasks: ScheduledTask[] = [];
  const wakeUps = setInterval(() => void lookForWakeUps(), wakeUpPollMs);
  const announced = setInterval(() => void announcedNow(), announcedPollMs);
  partners.webhooks?.on('event', announce);
  const alerts = setInterval(() => void alertsNow(), alertPollMs);
  const credential = setInterval(() => void credentialNow(), credentialPollMs);
  const readBack = setInterval(() => void readBackNow(), readBackPollMs);
  try {
    await recallRequests(context, partners.client, lease);
    await prepareReadBack(context, lease);
    if (!partners.writer)
      await store.transaction('end the alerts of the write-back', (tx) => endWriteBackAlerts(tx, context.nowMs()));
    tasks.push(
      cron.schedule(settings.schedule.capture, captureNow, { ...options, name: 'capture' }),
      cron.schedule(settings.schedule.pull, pullNow, { ...options, name: 'pull' }),
      cron.schedule(settings.schedule.writeBack, writeBackNow, { ...options, name: 'write-back' }),
      cron.schedule(settings.schedule.prune, pruneNow, { ...options, name: 'prune' }),
    );
    // Right after the start of a daemon that was off for a week, everything looks silent.
    void captureNow().finally(() => {
      settledIn = true;
      void pruneWhenMissed();
      void readBackNow();
    });
    const result = await deliver(context, partners.client, lease, {
      untilDrained: false,
      scope: { only: null },
      retryHorizonMs: 0,
      trial: false,
      erpIdentity: partners.reader.identity(),
      signal: ending.signal,
    });
    if (result.stopped && !signal.aborted) log.warn('delivery stopped', { reason: result.stopped });
  } finally {
    end();
    signal.removeEventListener('abort', end);
    clearInterval(wakeUps);
    clearInterval(announced);
    partners.webhooks?.off('event', announce);
    clearInterval(alerts);
    clearInterval(credential);
    clearInterval(readBack);
    for (const task of tasks) await task.destroy();
    await Promise.allSettled(running);
    await lease
      .release()
      .catch((error: Error) => log.error('The lease could not be released', { error: error.message }));
  }
}

/** A store or an ERP that is away for a while must not end a daemon that runs for years. */
async function keepTrying<T>(context: JobContext, signal: AbortSignal, run: () => Promise<T>): Promise<T | null> {
  for (;;) {
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
    appendAudit(tx, [{ event, actor, detail: { environment: settings.service.environment } }], nowMs()),
  );
}

/** Runs a job; that it failed goes on record, for alerts and `status`. */
async function recorded<T>(
  context: JobContext,
  job: RecordedJob,
  signal: AbortSignal,
  run: () => Promise<T>,
): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (!signal.aborted) await noteRun(context, job, (error as Error).message);
    throw error;
  }
}

/** Never throws: when the store is away, the job itself says so. */
async function noteRun({ store, nowMs, log }: JobContext, job: RecordedJob, failure: string | null): Promise<void> {
  await store
    .transaction(`note how ${job} went`, (tx) =>
      failure === null ? recordSuccess(tx, job, nowMs()) : recordFailure(tx, job, failure, nowMs()),
    )
    .catch((error: Error) => log.warn(`How ${job} went is not on record`, { error: error.message }));
}
