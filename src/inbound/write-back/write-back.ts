import { appendAudit } from '../../audit/audit-log.js';
import type { Fact } from '../../model/facts/fact.js';
import { type WriteBackKind, writeBackKinds } from '../../model/write-back.js';
import type { JobContext } from '../../ops/job-context.js';
import { goLiveProblem } from '../../outbound/deliver/go-live.js';
import { Lease } from '../../store/lease.js';
import { noteWriteBackAlerts } from './write-back-alerts.js';
import type { WriteBackParts } from './write-back-batch.js';
import { type WriteBackOptions, WriteBackRun } from './write-back-run.js';

export interface WriteBackResult {
  /** The other process that writes, or null. */
  busy: string | null;
  /** Why nothing may be written yet, as nothing may be delivered, or null. */
  held: Fact | null;
  written: Record<WriteBackKind, number>;
  /** Records that the ERP refused this time. */
  refused: number;
  /** Why a kind could not be written. */
  failures: { kind: WriteBackKind; reason: Fact }[];
}

/**
 * Brings what became of records and invoices into the ERP. Values that the ERP holds already are not written again, a
 * run that is cut short goes on where it was, and a failure is on record, never thrown: nothing else may stop for it.
 */
export async function writeBack(
  context: JobContext,
  partners: Pick<WriteBackParts, 'writer' | 'reader'>,
  options: WriteBackOptions = {},
): Promise<WriteBackResult> {
  const { store, settings, actor, nowMs } = context;
  const leaseMs = Math.max(settings.delivery.leaseSeconds, 2 * settings.writeBack.timeoutSeconds + 20) * 1000;
  const result: WriteBackResult = {
    busy: null,
    // A copy of the server, or a store that is not live, has a picture of its own.
    held: await store.read('look whether it may be written back', (tx) =>
      goLiveProblem(tx, settings, partners.reader.identity()),
    ),
    written: { orders: 0, customers: 0, invoices: 0 },
    refused: 0,
    failures: [],
  };
  if (result.held !== null) return result;
  const answer = await Lease.acquire(store, 'write-back', actor, leaseMs, context);
  if (!answer.held) return { ...result, busy: answer.holder };
  const { lease } = answer;
  try {
    const used = writeBackKinds.filter((kind) => settings.writeBack[kind].enabled);
    let isCertain = false;
    for (const kind of used) {
      if (options.signal?.aborted) break;
      const outcome = await new WriteBackRun({ context, ...partners, lease, kind }, options).run();
      result.written[kind] = outcome.written;
      result.refused += outcome.refused;
      if (outcome.failure === null) continue;
      result.failures.push({ kind, reason: outcome.failure.fact });
      isCertain ||= outcome.failure.kind === 'target';
    }
    await lease.write('note how the write-back went', async (tx) => {
      const at = nowMs();
      const detail = { ...result.written, refused: result.refused };
      const { failuresInRow } = settings.alert;
      const bySideTable = used.filter((kind) => settings.writeBack[kind].upsert === undefined);
      await noteWriteBackAlerts(tx, used, { failuresInRow, isCertain, bySideTable, nowMs: at });
      if (Object.values(result.written).some((count) => count > 0) || result.refused > 0)
        await appendAudit(tx, { event: 'write_back', outcome: 'written', actor, detail }, at);
    });
  } finally {
    await lease.release();
  }
  return result;
}
