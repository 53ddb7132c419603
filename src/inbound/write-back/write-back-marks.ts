import type { WriteBackKind } from '../../model/write-back.js';
import { placeholders, upsertRows } from '../../store/rows.js';
import type { Tx } from '../../store/store.js';

/** What the ERP is known to hold of one record. */
export interface WriteBackMark {
  key: string;
  /** Of what was written, or of what was refused. */
  hash: string;
  /** Why the ERP refuses it; null: it has it. */
  refusal: string | null;
  nextTryAt: number | null;
}

export async function readMarks(
  tx: Tx,
  kind: WriteBackKind,
  keys: readonly string[],
): Promise<Map<string, WriteBackMark>> {
  if (keys.length === 0) return new Map();
  const rows = await tx.select(
    `SELECT record_key, content_hash, refusal, next_try_at FROM write_back_row WHERE kind=? AND record_key IN ${placeholders(keys.length)}`,
    [kind, ...keys],
  );
  return new Map(
    rows.map((row) => [
      row.record_key,
      {
        key: row.record_key,
        hash: row.content_hash,
        refusal: row.refusal,
        nextTryAt: row.next_try_at === null ? null : Number(row.next_try_at),
      },
    ]),
  );
}

export async function saveMarks(tx: Tx, kind: WriteBackKind, marks: readonly WriteBackMark[]): Promise<void> {
  await upsertRows(
    tx,
    'write_back_row',
    ['kind', 'record_key'],
    marks.map(({ key, hash, refusal, nextTryAt }) => ({
      kind,
      record_key: key,
      content_hash: hash,
      refusal: refusal?.slice(0, 1000) ?? null,
      next_try_at: nextTryAt,
    })),
  );
}

export async function dropMarks(tx: Tx, kind: WriteBackKind, keys: readonly string[]): Promise<void> {
  if (keys.length === 0) return;
  await tx.run(`DELETE FROM write_back_row WHERE kind=? AND record_key IN ${placeholders(keys.length)}`, [
    kind,
    ...keys,
  ]);
}

/** Everything is to be written anew. */
export async function forgetMarks(tx: Tx, kind: WriteBackKind): Promise<void> {
  await tx.run('DELETE FROM write_back_row WHERE kind=?', [kind]);
}

/** What was written may not be there any more: nothing counts as written, and what is gone is still known to have been there. */
export async function distrustMarks(tx: Tx): Promise<void> {
  await tx.run("UPDATE write_back_row SET content_hash='', refusal=NULL, next_try_at=NULL");
}

/** Keys of what was written, in their order, after this one. */
export async function markedKeysAfter(tx: Tx, kind: WriteBackKind, after: string, limit: number): Promise<string[]> {
  const rows = await tx.select<{ record_key: string }>(
    `SELECT record_key FROM write_back_row WHERE kind=? AND record_key>? ORDER BY record_key LIMIT ${Math.trunc(limit)}`,
    [kind, after],
  );
  return rows.map((row) => row.record_key);
}

/** Keys of what was refused and is due again. */
export async function dueRefusals(tx: Tx, kind: WriteBackKind, nowMs: number, limit: number): Promise<string[]> {
  const rows = await tx.select<{ record_key: string }>(
    `SELECT record_key FROM write_back_row WHERE kind=? AND next_try_at<=? ORDER BY next_try_at LIMIT ${Math.trunc(limit)}`,
    [kind, nowMs],
  );
  return rows.map((row) => row.record_key);
}

/** How many rows the ERP refuses, and one of them. */
export async function countRefusals(
  tx: Tx,
): Promise<{ kind: WriteBackKind; count: number; key: string; refusal: string }[]> {
  const rows = await tx.select(
    `SELECT r.kind, r.n, r.k, w.refusal
       FROM (SELECT kind, COUNT(*) AS n, MIN(record_key) AS k FROM write_back_row WHERE next_try_at IS NOT NULL GROUP BY kind) r
       JOIN write_back_row w ON w.kind=r.kind AND w.record_key=r.k ORDER BY r.kind`,
  );
  return rows.map((row) => ({ kind: row.kind, count: Number(row.n), key: row.k, refusal: row.refusal ?? '' }));
}

/** How far the write-back of one kind has come. Times are milliseconds since 1970. */
export interface WriteBackProgress {
  kind: WriteBackKind;
  /** Of where it is written and by what statements: another one starts anew. */
  fingerprint: string;
  /** Changes up to here are written: an id of the audit, a time for invoices. */
  changeCursor: number;
  /** Where the sweep under way stands; null: none is under way. */
  sweepAfter: string | null;
  /** When the last whole sweep ended. */
  sweptAt: number | null;
  succeededAt: number | null;
  /** Failures in a row since then. */
  failures: number;
  failingSince: number | null;
  failure: string | null;
  nextTryAt: number;
}

export async function listWriteBack(tx: Tx): Promise<WriteBackProgress[]> {
  const rows = await tx.select('SELECT * FROM write_back_target ORDER BY kind');
  const time = (value: unknown) => (value === null ? null : Number(value));
  return rows.map((row) => ({
    kind: row.kind,
    fingerprint: row.fingerprint,
    changeCursor: Number(row.change_cursor),
    sweepAfter: row.sweep_after,
    sweptAt: time(row.swept_at),
    succeededAt: time(row.succeeded_at),
    failures: row.failures,
    failingSince: time(row.failing_since),
    failure: row.failure,
    nextTryAt: Number(row.next_try_at),
  }));
}

export async function saveWriteBack(tx: Tx, progress: WriteBackProgress): Promise<void> {
  await upsertRows(
    tx,
    'write_back_target',
    ['kind'],
    [
      {
        kind: progress.kind,
        fingerprint: progress.fingerprint,
        change_cursor: progress.changeCursor,
        sweep_after: progress.sweepAfter,
        swept_at: progress.sweptAt,
        succeeded_at: progress.succeededAt,
        failures: progress.failures,
        failing_since: progress.failingSince,
        failure: progress.failure?.slice(0, 1000) ?? null,
        next_try_at: progress.nextTryAt,
      },
    ],
  );
}
