import type { WriteBackKind } from '../model/write-back.js';
import { upsertRows } from './rows.js';
import type { Tx } from './store.js';

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
