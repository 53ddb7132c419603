import type { WriteBackKind } from '../model/write-back.js';
import { insertRows, placeholders } from './rows.js';
import type { SqlValue, Tx } from './store.js';

/**
 * Marks records as due for write-back, in the transaction that changes what the ERP should show of them: the mark is stored if
 * and only if the change is. Marks nothing of a kind that is not written back.
 *
 * A record may have several marks. They are added and removed by id alone: no two transactions wait for each other, and a
 * transaction that commits late leaves its mark like any other.
 */
export async function markDue(tx: Tx, kind: WriteBackKind, keys: readonly string[]): Promise<void> {
  if (!tx.writeBackKinds.has(kind)) return;
  await insertRows(
    tx,
    'write_back_due',
    [...new Set(keys)].map((key) => ({ kind, record_key: key })),
  );
}

/** The same for the keys that a SELECT of one column finds, however many they are. */
export async function markFoundDue(tx: Tx, kind: WriteBackKind, select: string, parameters: SqlValue[]): Promise<void> {
  if (!tx.writeBackKinds.has(kind)) return;
  await tx.run(
    `INSERT INTO write_back_due (kind, record_key) SELECT '${kind}', found.* FROM (${select}) found`,
    parameters,
  );
}

interface DueRecord {
  /** The id of the mark: it is removed when the record is written, and not a younger one of the same record. */
  id: number;
  recordKey: string;
}

/** Records that are due for write-back, the oldest marks first. */
export async function dueRecords(tx: Tx, kind: WriteBackKind, limit: number): Promise<DueRecord[]> {
  return tx.rows(`SELECT id, record_key FROM write_back_due WHERE kind=? ORDER BY id LIMIT ${Math.trunc(limit)}`, [
    kind,
  ]);
}

/** Removes marks whose records were written, or need not be. */
export async function removeDue(tx: Tx, marks: readonly DueRecord[]): Promise<void> {
  if (marks.length === 0) return;
  await tx.run(
    `DELETE FROM write_back_due WHERE id IN ${placeholders(marks.length)}`,
    marks.map(({ id }) => id),
  );
}

/** Removes all marks of a kind: a sweep takes their place. */
export async function removeAllDue(tx: Tx, kind: WriteBackKind): Promise<void> {
  await tx.run('DELETE FROM write_back_due WHERE kind=?', [kind]);
}
