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

/** Some invoice that the pull in the making met on the list; null: there is none. */
export async function metInvoice(tx: Tx): Promise<MissedInvoice | null> {
  const [row] = await tx.select<{ invoice_no: string; customer_code: string | null; status: string }>(
    `SELECT invoice_no, customer_code, status FROM invoice_staging
      WHERE invoice_no IS NOT NULL AND list_state<>'' AND is_newest=1 AND malformed IS NULL ORDER BY invoice_no DESC LIMIT 1`,
  );
  if (!row) return null;
  return { invoiceNo: row.invoice_no, customerCode: row.customer_code, status: row.status, isOffList: false };
}
