import type { WriteBackSettings } from '../../config/sections/write-back.js';
import type { Fact } from '../../model/facts/fact.js';
import { type WriteBackKind, writeBackKinds } from '../../model/write-back.js';
import type { JobContext } from '../../ops/job-context.js';
import { clockToleranceMs } from '../../store/clock.js';
import { factOf, factRow } from '../../store/fact-columns.js';
import { Lease } from '../../store/lease.js';
import { placeholders, upsertRows } from '../../store/rows.js';
import type { Store, Tx } from '../../store/store.js';
import { removeAllDue } from '../../store/write-back-due.js';

/** The values that the ERP is known to hold of one record. */
export interface WrittenRow {
  recordKey: string;
  /** A hash of the row that was written or refused; null: the ERP's values are not known. */
  contentHash: string | null;
  /** Why the ERP refuses it; null: it has it. */
  refusal: Fact | null;
  nextTryAt: number | null;
}

export async function readWritten(
  tx: Tx,
  kind: WriteBackKind,
  keys: readonly string[],
): Promise<Map<string, WrittenRow>> {
  if (keys.length === 0) return new Map();
  const rows = await tx.rows(
    `SELECT record_key, content_hash, refusal_code, refusal_data, next_try_at FROM write_back_row
      WHERE kind=? AND record_key IN ${placeholders(keys.length)}`,
    [kind, ...keys],
  );
  return new Map(
    rows.map(({ refusalCode, refusalData, ...row }) => [
      row.recordKey,
      { ...row, refusal: factOf(refusalCode, refusalData) } as WrittenRow,
    ]),
  );
}

export async function saveWritten(tx: Tx, kind: WriteBackKind, rows: readonly WrittenRow[]): Promise<void> {
  await upsertRows(
    tx,
    'write_back_row',
    ['kind', 'record_key'],
    rows.map(({ refusal, ...row }) => ({ kind, ...row, ...factRow('refusal', refusal) })),
  );
}

export async function dropWritten(tx: Tx, kind: WriteBackKind, keys: readonly string[]): Promise<void> {
  if (keys.length === 0) return;
  const parameters = [kind, ...keys];
  await tx.run(`DELETE FROM write_back_row WHERE kind=? AND record_key IN ${placeholders(keys.length)}`, parameters);
}

/** Everything is to be written anew. */
export async function forgetWritten(tx: Tx, kind: WriteBackKind): Promise<void> {
  await tx.run('DELETE FROM write_back_row WHERE kind=?', [kind]);
}

/** Keys of written rows after this one, in their order. */
export async function writtenKeysAfter(tx: Tx, kind: WriteBackKind, after: string, limit: number): Promise<string[]> {
  const rows = await tx.rows<WrittenRow>(
    `SELECT record_key FROM write_back_row WHERE kind=? AND record_key>? ORDER BY record_key LIMIT ${Math.trunc(limit)}`,
    [kind, after],
  );
  return rows.map(({ recordKey }) => recordKey);
}

/** The time for which a row that the ERP refuses rests. */
export const refusalRetryMs = 900_000;

/** True if a wait is over, or there is none. Pure. One that ends later than the longest wait was noted by a fast clock. */
export function isWaitOver(untilMs: number | null, nowMs: number, longestWaitMs: number): boolean {
  return untilMs === null || untilMs <= nowMs || untilMs > nowMs + longestWaitMs + clockToleranceMs;
}

/** Keys of refused rows that are due again. */
export async function dueRefusals(tx: Tx, kind: WriteBackKind, nowMs: number, limit: number): Promise<string[]> {
  const rows = await tx.rows<WrittenRow>(
    `SELECT record_key FROM write_back_row WHERE kind=? AND (next_try_at<=? OR next_try_at>?) ORDER BY next_try_at LIMIT ${Math.trunc(limit)}`,
    [kind, nowMs, nowMs + refusalRetryMs + clockToleranceMs],
  );
  return rows.map(({ recordKey }) => recordKey);
}

/** The number of rows that the ERP refuses, and one of them. */
export async function countRefusals(
  tx: Tx,
): Promise<{ kind: WriteBackKind; count: number; recordKey: string; refusal: Fact }[]> {
  const rows = await tx.rows(
    `SELECT r.kind, r.count, w.record_key, w.refusal_code, w.refusal_data
       FROM (SELECT kind, COUNT(*) AS count, MIN(record_key) AS record_key FROM write_back_row
              WHERE next_try_at IS NOT NULL GROUP BY kind) r
       JOIN write_back_row w ON w.kind=r.kind AND w.record_key=r.record_key ORDER BY r.kind`,
  );
  return rows.map(({ refusalCode, refusalData, kind, count, recordKey }) => ({
    kind,
    count,
    recordKey,
    refusal: factOf(refusalCode, refusalData) as Fact,
  }));
}

/**
 * The parts of a sweep: known records, parked ones, and written ones that may no longer be known. The first sweep of a table that
 * may be in use begins with `found`, which notes the rows that the ERP holds already.
 */
export type SweepPhase = 'found' | 'known' | 'parked' | 'written';

/** The progress of a sweep. `after`: the last key of this phase, or id of a parked message; null: the phase begins. */
export interface SweepPosition {
  phase: SweepPhase;
  after: string | null;
}

export const sweepStart: SweepPosition = { phase: 'known', after: null };

/** The progress of the write-back of one kind. Times are milliseconds since 1970. */
export interface WriteBackProgress {
  kind: WriteBackKind;
  /** A fingerprint of the target and its statements: another one starts anew. */
  fingerprint: string;
  /** The sweep under way; null: none is. */
  sweep: SweepPosition | null;
  /** When the last whole sweep ended. */
  sweptAt: number | null;
  succeededAt: number | null;
  /** Failures in a row since then. */
  failures: number;
  failingSince: number | null;
  failure: Fact | null;
  /** After a failure; null: at once. */
  nextTryAt: number | null;
}

export async function listWriteBack(tx: Tx): Promise<WriteBackProgress[]> {
  const rows = await tx.rows('SELECT * FROM write_back_target ORDER BY kind');
  return rows.map(({ sweepPhase: phase, sweepAfter: after, failureCode, failureData, ...row }) => {
    const sweep = phase === null ? null : { phase, after };
    return { ...row, sweep, failure: factOf(failureCode, failureData) } as WriteBackProgress;
  });
}

export async function saveWriteBack(tx: Tx, { sweep, failure, ...progress }: WriteBackProgress): Promise<void> {
  const position = { sweepPhase: sweep?.phase ?? null, sweepAfter: sweep?.after ?? null };
  await upsertRows(tx, 'write_back_target', ['kind'], [{ ...progress, ...position, ...factRow('failure', failure) }]);
}

/**
 * Has the transactions of this process mark what they change, of the kinds that are switched on. Nothing marks the changes of
 * a kind that is off, so when it is on again, it begins with a sweep.
 */
export async function switchWriteBack(store: Store, settings: WriteBackSettings): Promise<void> {
  const isOn = (kind: WriteBackKind) => settings.enabled && settings[kind].enabled;
  store.writeBackKinds = new Set(writeBackKinds.filter(isOn));
  const progress = await store.read('look what is written back', listWriteBack);
  const left = progress.filter(
    ({ kind, sweep }) => !isOn(kind) && !(sweep?.phase === 'known' && sweep.after === null) && sweep?.phase !== 'found',
  );
  if (left.length === 0) return;
  await store.transaction('switch the write-back off', async (tx) => {
    for (const one of left) {
      await saveWriteBack(tx, { ...one, sweep: sweepStart });
      await removeAllDue(tx, one.kind);
    }
  });
}

const leaseMs = 30_000;

/**
 * Has the next run write everything back once more: no row counts as written, but all stay known, so that those of unknown
 * records are still removed.
 * @returns who is writing at this moment, so that nothing was done, or null
 */
export async function writeAgain(context: JobContext): Promise<string | null> {
  const { store, actor } = context;
  const answer = await Lease.acquire(store, 'write-back', actor, leaseMs, context);
  if (!answer.held) return answer.holder;
  try {
    await answer.lease.write('have everything written back again', async (tx) => {
      await tx.run(
        'UPDATE write_back_row SET content_hash=NULL, refusal_code=NULL, refusal_data=NULL, next_try_at=NULL',
      );
      for (const progress of await listWriteBack(tx))
        await saveWriteBack(tx, { ...progress, sweep: sweepStart, nextTryAt: null });
    });
  } finally {
    await answer.lease.release();
  }
  return null;
}
