import { insertRows, placeholders } from '../store/rows.js';
import type { Tx } from '../store/store.js';

export interface NewState {
  status: string;
  /** One that has it. */
  invoiceNo: string;
}

/** States among the staged invoices that nobody named and that were never met before. They are reported once, and kept as they are. */
export async function noteNewStates(tx: Tx, states: readonly string[], nowMs: number): Promise<NewState[]> {
  const rows = await tx.select<{ status: string; invoice_no: string }>(
    `SELECT s.status, MIN(s.invoice_no) AS invoice_no FROM invoice_staging s
      WHERE s.status IS NOT NULL AND s.has_left=0 AND s.status NOT IN ${placeholders(states.length)}
        AND NOT EXISTS (SELECT 1 FROM invoice_state k WHERE k.status=s.status)
      GROUP BY s.status ORDER BY s.status LIMIT 50`,
    states,
  );
  await insertRows(
    tx,
    'invoice_state',
    rows.map((row) => ({ ...row, since_at: nowMs })),
  );
  return rows.map((row) => ({ status: row.status, invoiceNo: row.invoice_no }));
}
