import { placeholders } from '../store/rows.js';
import type { Tx } from '../store/store.js';

/**
 * Removes requests that belong to no message (pages of a list, orders that were read back) and are older than `before`; up to
 * `limit` are looked at, from `afterId` on. Those of messages go with them.
 */
export async function pruneAttempts(
  tx: Tx,
  before: number,
  afterId: number,
  limit: number,
): Promise<{ attempts: number; lastId: number; more: boolean }> {
  const rows = await tx.select<{ id: number; message_id: number | null; intended_at: number | string }>(
    `SELECT id, message_id, intended_at FROM attempt WHERE id>? ORDER BY id LIMIT ${Math.trunc(limit)}`,
    [afterId],
  );
  const old = rows.filter((row) => Number(row.intended_at) < before);
  const ids = old.filter((row) => row.message_id === null).map((row) => Number(row.id));
  const attempts =
    ids.length === 0 ? 0 : await tx.run(`DELETE FROM attempt WHERE id IN ${placeholders(ids.length)}`, ids);
  // Ids grow with time.
  return { attempts, lastId: Number(rows.at(-1)?.id ?? afterId), more: old.length === limit };
}
