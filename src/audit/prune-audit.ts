import { placeholders } from '../store/rows.js';
import type { Tx } from '../store/store.js';

/** Removes the oldest lines of the log, up to `limit` of them. @returns how many there were */
export async function pruneAudit(tx: Tx, before: number, limit: number): Promise<number> {
  const rows = await tx.select<{ id: number }>(
    `SELECT id FROM audit_log WHERE at<? ORDER BY at, id LIMIT ${Math.trunc(limit)}`,
    [before],
  );
  if (rows.length === 0) return 0;
  const ids = rows.map((row) => Number(row.id));
  return tx.run(`DELETE FROM audit_log WHERE id IN ${placeholders(ids.length)}`, ids);
}
