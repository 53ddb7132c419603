import type { Tx } from '../../store/store.js';

export interface ListedInvoice {
  invoice_no: string;
  customer_code: string | null;
  amount: number;
  due_date: string;
  status: string;
}

/** Some rows by due date, and the count and sum of all. The sum is text, because it need not fit into a number. */
export interface InvoiceSheet {
  rows: ListedInvoice[];
  count: number;
  sum: string;
}

/** What is listed as due now. Credit notes are apart, because they are nothing to chase. */
export async function listInvoices(tx: Tx, limit: number): Promise<InvoiceSheet & { creditNotes: InvoiceSheet }> {
  const due = await sheet(tx, 'amount>=0', limit);
  return { ...due, creditNotes: await sheet(tx, 'amount<0', limit) };
}

async function sheet(tx: Tx, which: string, limit: number): Promise<InvoiceSheet> {
  const rows = await tx.select<ListedInvoice>(
    `SELECT invoice_no, customer_code, amount, due_date, status FROM invoice WHERE unlisted_at IS NULL AND ${which}
      ORDER BY due_date, invoice_no LIMIT ${Math.trunc(limit)}`,
  );
  const [all] = await tx.select<{ n: number; total: string | null }>(
    `SELECT COUNT(*) AS n, CAST(SUM(amount) AS CHAR) AS total FROM invoice WHERE unlisted_at IS NULL AND ${which}`,
  );
  return { rows, count: Number(all?.n ?? 0), sum: all?.total ?? '0' };
}

/** How many invoices are listed as due now, credit notes among them. */
export async function countListedInvoices(tx: Tx): Promise<number> {
  const [row] = await tx.select<{ n: number }>('SELECT COUNT(*) AS n FROM invoice WHERE unlisted_at IS NULL');
  return Number(row?.n ?? 0);
}

export interface LeftInvoice extends ListedInvoice {
  unlisted_at: number;
  /** Its state in the service's words, where it was asked for by its number; null: all that is known is that it left. */
  left_status: string | null;
}

/** What is no longer listed, the last to leave first. */
export async function listLeftInvoices(tx: Tx, limit: number): Promise<LeftInvoice[]> {
  const rows = await tx.select<LeftInvoice>(
    `SELECT invoice_no, customer_code, amount, due_date, status, unlisted_at, left_status FROM invoice
      WHERE unlisted_at IS NOT NULL ORDER BY unlisted_at DESC, invoice_no LIMIT ${Math.trunc(limit)}`,
  );
  return rows.map((row) => ({ ...row, unlisted_at: Number(row.unlisted_at) }));
}

export interface MalformedInvoice {
  invoice_no: string | null;
  reason: string;
  since_at: number;
}

/** What the service lists and makes no sense. */
export async function listMalformedInvoices(tx: Tx, limit: number): Promise<MalformedInvoice[]> {
  const rows = await tx.select<MalformedInvoice>(
    `SELECT invoice_no, reason, since_at FROM invoice_malformed ORDER BY since_at, invoice_no LIMIT ${Math.trunc(limit)}`,
  );
  return rows.map((row) => ({ ...row, since_at: Number(row.since_at) }));
}
