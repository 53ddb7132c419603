import type { Horizon } from './elapsed-time.js';
import { placeholders } from './rows.js';
import type { Tx } from './store.js';

/**
 * Deletes the oldest rows of a table, up to `limit` of them. @returns how many there were
 * @param old.where a condition on `before`, with the order in which they go
 */
export async function deleteOldest(
  tx: Tx,
  old: { table: string; key: string; where: string; before: Horizon },
  limit: number,
): Promise<number> {
  const { table, key, where, before } = old;
  const rows = await tx.select(`SELECT ${key} FROM ${table} WHERE ${where} LIMIT ${Math.trunc(limit)}`, [before]);
  if (rows.length === 0) return 0;
  const keys = rows.map((row) => row[key]);
  return tx.run(`DELETE FROM ${table} WHERE ${key} IN ${placeholders(keys.length)}`, keys);
}
