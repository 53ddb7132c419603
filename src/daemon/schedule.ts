import { setTimeout as sleep } from 'node:timers/promises';
import { appendAudit } from '../audit/audit-log.js';
import { prepareReadBack } from '../inbound/orders/read-back.js';
import { endWriteBackAlerts } from '../inbound/write-back/write-back-alerts.js';
import type { JobContext } from '../ops/job-context.js';
import { deliver } from '../outbound/deliver/deliver.js';
import { recallRequests } from '../outbound/deliver/lane-keeper.js';
import { ServiceLease } from '../outbound/deliver/service-lease.js';
import { type DaemonPartners, scheduleJobs } from './daemon-jobs.js';
import { JobScheduler } from './job-scheduler.js';

const retryMs = 5_000;

/**
 * The daemon: waits for the service lease, then runs the jobs by the clock and delivers all the time, until `signal` aborts.
 * A daemon without the lease stands by and does nothing, so that there is one of each job.
 */
export async function runSchedule(context: JobContext, partners: DaemonPartners, signal: AbortSignal): Promise<void> {
  await keepTrying(context, partners, signal, () => note(context, 'start'));
  let said = '';
  try {
    while (!signal.aborted) {
      partners.beat?.();
      const answer = await keepTrying(context, partners, signal, () => ServiceLease.acquire(context, signal));
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
  partners: DaemonPartners,
  lease: ServiceLease,
  stop: AbortSignal,
): Promise<void> {
  const { settings, store, log, nowMs } = context;
  const where = { epoch: lease.lease.epoch, environment: settings.service.environment };
  const ending = new AbortController();
  const signal = AbortSignal.any([stop, ending.signal]);
  const scheduler = new JobScheduler(log, settings.schedule.timeZone, signal, partners.beat);
  let stopListening = () => {};
  try {
    await recallRequests(context, partners.client.rateLimiter, lease);
    await prepareReadBack(context, lease);
    if (!partners.writer)
      await store.transaction('end the alerts of the write-back', (tx) => endWriteBackAlerts(tx, nowMs()));
    const { begin, announce } = scheduleJobs(context, partners, lease, scheduler, signal);
    partners.webhooks?.on('event', announce);
    stopListening = () => partners.webhooks?.off('event', announce);
    begin();
    const result = await deliver(context, partners.client, lease, {
      untilDrained: false,
      scope: { only: null },
      retryHorizonMs: 0,
      trial: false,
      erp: partners.reader,
      signal,
      onHeld: (reason) =>
        reason === null
          ? log.info('Delivering from here', where)
          : log.warn('Nothing is delivered from here', { ...where, reason }),
    });
    if (result.stopped && !stop.aborted) log.warn('delivery stopped', { reason: result.stopped });
  } finally {
    // Delivery has drained. The jobs stop next, and the lease goes last: a successor may begin at once.
    ending.abort();
    stopListening();
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
