import type { Tx } from '../store/store.js';
import { listIsProven } from './list-is-proven.js';

export interface MissedInvoice {
  invoiceNo: string;
  customerCode: string | null;
  /** Its state when it was listed last. */
  status: string;
  /** It is proven that it is not on the list any more. */
  isOffList: boolean;
}

/** Listed invoices that the pull in the making did not meet, the longest missed first. */
export async function missedInvoices(tx: Tx, limit: number): Promise<MissedInvoice[]> {
  const rows = await tx.select<{ invoice_no: string; customer_code: string | null; status: string; is_proven: number }>(
    `SELECT invoice_no, customer_code, status, CASE WHEN ${listIsProven} THEN 1 ELSE 0 END AS is_proven FROM invoice WHERE unlisted_at IS NULL
        AND NOT EXISTS (SELECT 1 FROM invoice_staging s WHERE s.invoice_no=invoice.invoice_no)
      ORDER BY CASE WHEN missed_at IS NULL THEN 1 ELSE 0 END, missed_at, invoice_no LIMIT ${Math.trunc(limit)}`,
  );
  return rows.map((row) => ({
    invoiceNo: row.invoice_no,
    customerCode: row.customer_code,
    status: row.status,
    isOffList: Number(row.is_proven) === 1,
  }));
}
