import { setTimeout as sleep } from 'node:timers/promises';
import { appendAudit } from '../../audit/audit-log.js';
import type { ErpReader } from '../../erp/erp-reader.js';
import type { JobContext } from '../../ops/job-context.js';
import { recallRequests, tryNewCredential } from '../../outbound/deliver/lane-keeper.js';
import { ServiceLease } from '../../outbound/deliver/service-lease.js';
import type { ServiceClient } from '../../service/service-client.js';
import { requestWakeUp } from '../../store/job-runs.js';
import { reconcile } from './reconcile.js';
import {
  openRun,
  type ReconcileAsks,
  type Reconciliation,
  readRun,
  runningRuns,
  type Subject,
  stopRun,
} from './reconcile-rows.js';

interface Partners {
  reader: ErpReader;
  client: () => Promise<ServiceClient> | ServiceClient;
}

interface StartOptions {
  /** Begins anew where one was cut short. */
  again?: boolean;
  /** For so long it compares by itself before it lets a daemon have the service that was started meanwhile. */
  turnMs?: number;
  signal?: AbortSignal;
  onProgress?: (progress: { done: number; total: number }) => void;
  /** Told who compares where another process talks to the service. */
  onWatch?: (holder: string) => void;
}

const pollMs = 300;
/** A daemon that stands by asks for the service every two seconds. */
const restBetweenTurnsMs = 2_500;

/** Begins a comparison, or goes on with the one that was cut short, and asks the daemon for it. */
export async function askForReconcile(
  { store, actor, nowMs }: Pick<JobContext, 'store' | 'actor' | 'nowMs'>,
  { subject, asks, again = false, reason }: { subject: Subject; asks: ReconcileAsks; again?: boolean; reason: string },
): Promise<Reconciliation> {
  const total = await countRecords(store, subject);
  return store.transaction('ask for a comparison', async (tx) => {
    const run = await openRun(tx, { subject, asks, total }, { actor, nowMs: nowMs(), again });
    await requestWakeUp(tx, 'reconcile', actor, nowMs());
    const detail = { reconciliation: run.id, subject, from: asks.from, to: asks.to, reason };
    await appendAudit(tx, { event: 'operator', outcome: 'ask_reconcile', actor, detail }, nowMs());
    return run;
  });
}

/**
 * Compares both sides now, or goes on where the last comparison stopped. Beside a running daemon, which alone may talk to the
 * service, it asks the daemon to compare, and watches. Without one it compares by itself, and lets go of the service from time
 * to time: a daemon that is started meanwhile must not wait an hour before it delivers.
 */
export async function startReconcile(
  context: JobContext,
  { reader, client }: Partners,
  subject: Subject,
  asks: ReconcileAsks,
  { again = false, turnMs = 30_000, signal, onProgress, onWatch }: StartOptions = {},
): Promise<Reconciliation> {
  const { store, actor, nowMs, clock } = context;
  const total = await countRecords(store, subject);
  const run = await store.transaction('begin a comparison', (tx) =>
    openRun(tx, { subject, asks, total }, { actor, nowMs: nowMs(), again }),
  );
  let told = '';
  for (;;) {
    const answer = await ServiceLease.acquire(context, signal);
    if (answer instanceof ServiceLease) {
      try {
        const opened = await client();
        await recallRequests(context, opened.rateLimiter, answer);
        await tryNewCredential(context, opened, answer);
        const turnEndsAtMs = clock.monotonicMs() + turnMs;
        const ended = await reconcile(context, { reader, client: opened, lease: answer }, run.id, {
          signal,
          isTurnOver: () => clock.monotonicMs() >= turnEndsAtMs,
          ...(onProgress && { onProgress }),
        });
        if (ended.state !== 'running') return ended;
      } finally {
        await answer.release();
      }
      await clock.sleep(restBetweenTurnsMs, signal);
      continue;
    }
    if (told !== answer.holder) onWatch?.(answer.holder);
    told = answer.holder;
    await store.transaction('ask for a comparison', (tx) => requestWakeUp(tx, 'reconcile', actor, nowMs()));
    for (let polls = 0; polls < 20; polls++) {
      const now = await store.read('look how far a comparison is', (tx) => readRun(tx, run.id));
      if (now === null || now.state !== 'running') return now ?? run;
      onProgress?.({ done: now.tally.read, total: now.tally.total });
      if (signal?.aborted) {
        await store.transaction('stop a comparison', (tx) =>
          stopRun(tx, run.id, { code: 'process_stopping' }, nowMs()),
        );
        return { ...now, state: 'stopped', reason: { code: 'process_stopping' } };
      }
      await sleep(pollMs);
    }
  }
}

/** The number of records of this kind that the store knows at the service. */
export async function countRecords(store: JobContext['store'], subject: Subject): Promise<number> {
  const sql =
    subject === 'invoices'
      ? 'SELECT COUNT(*) FROM invoice WHERE unlisted_at IS NULL'
      : `SELECT COUNT(*) FROM binding WHERE entity='${subject === 'orders' ? 'order' : 'customer'}'`;
  return (await store.read('count what is known', (tx) => tx.value<number>(sql))) ?? 0;
}

/** Goes on with every comparison that somebody waits for: the daemon's part. */
export async function reconcileAsked(
  context: JobContext,
  parts: { reader: ErpReader; client: ServiceClient; lease: ServiceLease },
  signal: AbortSignal,
): Promise<Reconciliation[]> {
  const ended: Reconciliation[] = [];
  // Another one may be asked for while this one is under way.
  for (;;) {
    const [id] = await context.store.read('look for comparisons', runningRuns);
    if (id === undefined || signal.aborted) return ended;
    ended.push(await reconcile(context, parts, id, { signal, leavesOpen: true }));
  }
}
