import { placeholders } from '../store/rows.js';
import type { Tx } from '../store/store.js';

/** Removes records of old pulls, up to `limit` of them; the newest stays. The invoices themselves stay too. */
export async function prunePulls(tx: Tx, before: number, limit: number): Promise<number> {
  const rows = await tx.select<{ id: number }>(
    `SELECT id FROM invoice_pull WHERE started_at<? AND ended_at IS NOT NULL
        AND id<(SELECT MAX(n.id) FROM invoice_pull n) ORDER BY id LIMIT ${Math.trunc(limit)}`,
    [before],
  );
  if (rows.length === 0) return 0;
  const ids = rows.map((row) => Number(row.id));
  return tx.run(`DELETE FROM invoice_pull WHERE id IN ${placeholders(ids.length)}`, ids);
}
