import { type AuditEntry, appendAudit } from '../../audit/audit-log.js';
import { failureOf } from '../../model/facts/failure.js';
import type { JobContext } from '../../ops/job-context.js';
import { killPoint } from '../../ops/kill-point.js';
import { knownPage, type ReconcileParts, unknownPage } from './compare-page.js';
import { reconcileInvoices } from './reconcile-invoices.js';
import { type ComparedPage, keepPage, type Reconciliation, readRun, stopRun } from './reconcile-rows.js';
import { Stopped, whyNotAsked } from './service-side.js';

interface ReconcileOptions {
  signal?: AbortSignal | undefined;
  onProgress?: (progress: { done: number; total: number }) => void;
  /** Told to stop, it leaves the comparison to the next process that talks to the service. */
  leavesOpen?: boolean;
  /** Asked after each page: when it says so, the comparison is left as it is. */
  isTurnOver?: () => boolean;
}

/**
 * Goes on with a comparison until all is read, or something stops it: then it keeps its place, and the reason. Both sides are
 * read page by page, so memory does not grow with their size; the service is asked behind everything else.
 */
export async function reconcile(
  context: JobContext,
  parts: ReconcileParts,
  runId: number,
  { signal, onProgress, leavesOpen = false, isTurnOver = () => false }: ReconcileOptions = {},
): Promise<Reconciliation> {
  const { store, nowMs } = context;
  const read = async () =>
    (await store.read('look how far a comparison is', (tx) => readRun(tx, runId))) as Reconciliation;
  try {
    for (let run = await read(); run.state === 'running'; run = await read()) {
      onProgress?.({ done: run.tally.read, total: run.tally.total });
      if (signal?.aborted) throw new Stopped({ code: 'process_stopping' });
      const page = await nextPage(context, parts, run, signal);
      await parts.lease.write('keep what was compared', async (tx) => {
        await keepPage(tx, runId, page, nowMs());
        if (page.phase === 'ended') await appendAudit(tx, endedLine(context, run, page), nowMs());
        killPoint('before-reconcile-commit');
      });
      killPoint('after-reconcile-commit');
      if (isTurnOver()) break;
    }
  } catch (error) {
    if (leavesOpen && signal?.aborted && error instanceof Stopped) return read();
    const reason = failureOf(error);
    await store.transaction('stop a comparison', (tx) => stopRun(tx, runId, reason, nowMs()));
    if (!(error instanceof Stopped)) throw error;
  }
  return read();
}

/** The audit's line about a comparison that came to its end. */
function endedLine({ actor }: JobContext, { id, subject, asks }: Reconciliation, { tally }: ComparedPage): AuditEntry {
  const { read, same, found, requests, proof } = tally;
  const detail = { reconciliation: id, subject, from: asks.from, to: asks.to, read, same, ...found, requests, proof };
  return { event: 'operator', outcome: 'reconcile', actor, detail };
}

async function nextPage(
  context: JobContext,
  parts: ReconcileParts,
  run: Reconciliation,
  signal?: AbortSignal,
): Promise<ComparedPage> {
  if (run.subject === 'invoices') return reconcileInvoices(context, parts, run, signal);
  const entity = run.subject === 'orders' ? 'order' : 'customer';
  // The settings may be others than those with which it was asked for.
  const why = run.phase === 'known' ? whyNotAsked(context.settings, run.subject) : null;
  if (why !== null) throw new Stopped(why);
  if (run.phase === 'known') return knownPage(context, parts, run, entity, signal);
  return unknownPage(context, parts.reader, run, entity);
}
