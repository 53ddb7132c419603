import type { EventEmitter } from 'node:events';
import type { ErpReader } from '../erp/erp-reader.js';
import type { ErpWriter } from '../erp/write-back/erp-writer.js';
import { pull } from '../inbound/invoices/pull.js';
import { readOrdersBack } from '../inbound/orders/read-back.js';
import { AnnouncedTurns, endPulled, readAnnounced } from '../inbound/webhooks/read-announced.js';
import { writeBack } from '../inbound/write-back/write-back.js';
import type { Fact } from '../model/facts/fact.js';
import { failureOf } from '../model/facts/failure.js';
import { outside } from '../model/outside.js';
import { defaultSource, inSource, sourceNames } from '../model/record.js';
import { prune } from '../operator/prune.js';
import type { JobContext } from '../ops/job-context.js';
import { capture } from '../outbound/capture/capture.js';
import type { CaptureResult } from '../outbound/capture/capture-result.js';
import { tryNewCredential } from '../outbound/deliver/lane-keeper.js';
import { QuietClock } from '../outbound/deliver/quiet-hours.js';
import type { ServiceLease } from '../outbound/deliver/service-lease.js';
import type { ServiceClient } from '../service/service-client.js';
import {
  type Ask,
  isComparisonOpen,
  listJobRuns,
  type RecordedJob,
  readAsks,
  recordFailure,
  recordSuccess,
  takeWakeUps,
} from '../store/job-runs.js';
import { lookAfterAlerts, type TellAlert } from './tell-alerts.js';

export interface DaemonPartners {
  reader: ErpReader;
  client: ServiceClient;
  /** Absent or null: nothing is written back into the ERP. */
  writer?: ErpWriter | null;
  /** Tells a person of an alert; absent or null: no command is configured. */
  tell?: TellAlert | null;
  /** Emits `event` when this process has stored a webhook that something has to be read for. */
  webhooks?: EventEmitter;
  /** Told `due` when something was captured, so that delivery looks at once; and `asks` by delivery while it rests. */
  news?: EventEmitter;
  /** Called at every turn of the daemon, for a watchdog. */
  beat?: () => void;
}

/** A sweep of the write-back leaves the rest to its next turn after so long. */
const writeBackSweepMs = 20_000;
/** After so long without a prune, one is made up for. */
const missedPruneMs = 48 * 3_600_000;
const lookForMissedMs = 3_600_000;
/** The first look for alerts waits for the first capture, but no longer than this. */
const graceMs = 600_000;

/** Resolves when the run is over; never rejects. */
export type Job = () => Promise<unknown>;

/** The runner of jobs by the clock, see `JobScheduler`. */
export interface Scheduler {
  job(name: string, run: () => Promise<unknown>): Job;
  schedule(name: string, pattern: string, job: Job): void;
  every(ms: number, job: Job): void;
}

/**
 * The daemon's work beside delivering: every job, put on the schedule. Returns what starts them outside of it: `begin`
 * once at the start, `announce` when a webhook was stored.
 */
export function scheduleJobs(
  context: JobContext,
  partners: DaemonPartners,
  lease: ServiceLease,
  scheduler: Scheduler,
  signal: AbortSignal,
): { begin: () => void; announce: () => void } {
  const { settings, store, log, clock } = context;
  const nowMs = () => context.nowMs();
  /** Waits are measured by it: the clock on the wall may be set. */
  const sinceBootMs = () => clock.sinceBoot().bootMs;
  const { reader, client, writer } = partners;
  const quiet = new QuietClock(settings.schedule);

  /** Puts on record how a job went, for alerts and `status`. @param failure null: it succeeded; undefined: neither */
  const note = async (job: RecordedJob, failure: Fact | null | undefined) => {
    if (failure === undefined) return;
    if (job.startsWith('capture')) lease.membership?.captured(job, failure);
    const noted =
      failure === null
        ? store.statement(`note that ${job} succeeded`, (tx) => recordSuccess(tx, job, nowMs()))
        : store.transaction(`note that ${job} failed`, (tx) => recordFailure(tx, job, failure, nowMs()));
    // When the store is away, the job itself says so.
    await noted.catch((error: Error) => log.warn(`How ${job} went is not on record`, { error: error.message }));
  };
  const noting = async <T>(job: RecordedJob, run: Promise<T>, resultOf: (result: T) => Fact | null | undefined) => {
    const result = await run.catch(async (error: Error) => {
      await note(job, signal.aborted ? undefined : failureOf(error));
      throw error;
    });
    await note(job, resultOf(result));
    return result;
  };

  /** A capture that is refused fails as one that cannot read does. */
  const refusalOf = ({ stopped, busy, paused }: CaptureResult): Fact | null | undefined => {
    if (stopped === null) return null;
    return busy || paused || signal.aborted ? undefined : { code: 'capture_refused', reason: stopped.reason };
  };
  const captureOf = async (source: string) => {
    const tellNews = () => partners.news?.emit('due');
    const onTouched = (records: readonly unknown[]) => records.length > 0 && tellNews();
    const captured = capture(context, reader, { signal, onTouched, source }).finally(tellNews);
    const result = await noting(inSource('capture', source), captured, refusalOf);
    const of = source === defaultSource ? {} : { source };
    const { orders, customers } = result.captured;
    const removed = result.removed.orders + result.removed.customers;
    const { parked, waiting } = result;
    if (orders + customers + removed + parked > 0)
      log.info('captured', { ...of, orders, customers, removed, parked, waiting });
    if (result.stopped && !signal.aborted) log.warn('capture did not run', { ...of, ...result.stopped });
  };
  // A source that is away, or is read whole, keeps none of the others from their turn.
  const captures = sourceNames(settings).map((source) =>
    scheduler.job(inSource('capture', source), () => captureOf(source)),
  );
  const captureNow = async () => void (await Promise.all(captures.map((run) => run())));

  const writeBackNow = scheduler.job('write-back', async () => {
    if (!writer) return;
    const { written, refused } = await writeBack(context, { writer, reader }, { signal, sweepMs: writeBackSweepMs });
    if (written.orders + written.customers + written.invoices + refused > 0)
      log.info('Written back into the ERP', { ...written, refused });
  });

  const pullNow = scheduler.job('pull', async () => {
    if (!settings.invoices.enabled || quiet.isQuiet('pull', nowMs())) return;
    const pulled = pull(context, client, lease, { waitsForTurn: true, signal });
    const result = await noting('pull', pulled, ({ outcome, reason }) => {
      if (outcome === 'proven' || outcome === 'unproven') return null;
      return outcome === 'failed' && !signal.aborted
        ? (reason ?? { code: 'failed', message: outside('no reason given') })
        : undefined;
    });
    if (result.outcome === 'proven') await endPulled(context, lease);
    log.log(result.outcome === 'proven' ? 'info' : 'warn', 'pulled unpaid invoices', result);
    void writeBackNow();
  });

  const turns = new AnnouncedTurns();
  const pullForEvents = scheduler.job('pull for webhooks', async () => {
    const since = nowMs();
    // A pull that was under way already may have passed the place of what changed.
    for (let nth = 0; nth < 2 && !signal.aborted; nth++) {
      await pullNow();
      if (await endPulled(context, lease, since)) return;
    }
  });
  const announcedNow = scheduler.job('webhooks', async () => {
    if (!turns.take(sinceBootMs())) return;
    const result = await readAnnounced(context, client, lease, signal).catch((error: Error) => {
      turns.waitFor(sinceBootMs());
      throw error;
    });
    if (result.read > 0) log.info('read what webhooks announced', { records: result.read });
    if (result.waits) turns.waitFor(sinceBootMs());
    // Events that come while a pull is under way ask for one in vain: they wait until it is over.
    if (result.needsPull && turns.takePull(sinceBootMs()))
      void pullForEvents().finally(() => turns.waitFor(sinceBootMs()));
  });
  const announce = () => {
    turns.announce();
    void announcedNow();
  };

  const pruneNow = scheduler.job('prune', async () => {
    const pruned = prune(context, lease.lease, signal);
    const removed = await noting('prune', pruned, () => (signal.aborted ? undefined : null));
    if (!signal.aborted) log.info('pruned', removed);
  });
  /** A machine that is off, or asleep, at night would never prune. */
  const pruneWhenMissed = scheduler.job('prune', async () => {
    const last = (await store.read('look for the last prune', listJobRuns)).find((run) => run.job === 'prune');
    if (nowMs() - (last?.succeededAt ?? 0) > missedPruneMs) await pruneNow();
  });

  const readBackNow = scheduler.job('reading orders back', async () => {
    if (!settings.orders.readBack.enabled || quiet.isQuiet('pull', nowMs())) return;
    const result = await readOrdersBack(context, client, lease, signal);
    if (result.read + result.gone + result.failed > 0) log.info('read orders back', result);
  });

  const reconcileNow = scheduler.job('reconcile', async () => {
    const { reconcileAsked } = await import('../operator/reconcile/start-run.js');
    for (const { subject, state, tally, reason } of await reconcileAsked(context, { reader, client, lease }, signal))
      log.info('compared both sides', { subject, state, reason, read: tally.read, ...tally.found });
  });

  /** Work that was under way when an earlier process ended. */
  const reconcileWhenLeft = scheduler.job('reconcile', async () => {
    if (await store.read('look for comparisons', isComparisonOpen)) await reconcileNow();
  });

  const answerNow = scheduler.job('questions', async () => {
    const { answerQuestions } = await import('../operator/check-claims.js');
    const records = await answerQuestions(context, { client, lease }, signal);
    log.info('Asked the service what it has, for a person', { records });
  });

  const wakeUp = scheduler.job('wake-up', async () => {
    for (const asked of await store.transaction('take wake-ups', takeWakeUps)) {
      log.info('Woken up', asked);
      if (asked.job === 'webhooks') announce();
      else void { capture: captureNow, pull: pullNow, reconcile: reconcileNow, questions: answerNow }[asked.job]();
    }
  });

  // Right after the start of a daemon that was off for a week, everything looks silent.
  let settledIn = false;
  const startedAt = performance.now();
  const alertsNow = scheduler.job('alerts', async () => {
    if (!settledIn && performance.now() - startedAt < graceMs) return;
    await lookAfterAlerts(context, lease.lease, partners.tell ?? null, signal);
  });

  const figuresNow = scheduler.job('figures', async () => {
    const { recordFigures } = await import('../operator/figures/record-figures.js');
    await recordFigures(context);
  });

  const credentialNow = scheduler.job('credential', () => tryNewCredential(context, client, lease, true));

  const heed = (asks: readonly Ask[]) => {
    if (asks.includes('wake-up')) void wakeUp();
    if (asks.includes('credential')) void credentialNow();
  };
  // Delivery that rests asks along with its own looks.
  let asksAlong = false;
  partners.news?.on('asks', (asks: readonly Ask[] | null) => {
    asksAlong = asks !== null;
    heed(asks ?? []);
  });
  const lookForAsks = scheduler.job('requests', async () => {
    if (!asksAlong) heed(await store.read('look for requests', readAsks));
  });

  for (const run of captures) scheduler.schedule('capture', settings.schedule.capture, run);
  scheduler.schedule('pull', settings.schedule.pull, pullNow);
  scheduler.schedule('write-back', settings.schedule.writeBack, writeBackNow);
  scheduler.schedule('prune', settings.schedule.prune, pruneNow);
  scheduler.every(2_000, lookForAsks);
  scheduler.every(1_000, announcedNow);
  scheduler.every(lookForMissedMs, pruneWhenMissed);
  scheduler.every(10_000, alertsNow);
  scheduler.every(60_000, figuresNow);
  scheduler.every(5_000, readBackNow);

  const begin = () =>
    void captureNow().finally(() => {
      settledIn = true;
      void pruneWhenMissed();
      void readBackNow();
      void reconcileWhenLeft();
    });
  return { begin, announce };
}
