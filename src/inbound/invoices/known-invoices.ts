import { placeholders } from '../../store/rows.js';
import type { Tx } from '../../store/store.js';

/** An invoice as it is known: listed as due, or no longer. */
export interface KnownInvoice {
  invoiceNo: string;
  customerCode: string | null;
  amount: number;
  dueDate: string;
  status: string;
  firstListedAt: number;
  unlistedAt: number | null;
  /** Its state when it left, where the service said so. */
  leftStatus: string | null;
}

export async function knownInvoices(tx: Tx, numbers: readonly string[]): Promise<Map<string, KnownInvoice>> {
  if (numbers.length === 0) return new Map();
  const rows = await tx.select(
    `SELECT invoice_no, customer_code, amount, due_date, status, first_listed_at, unlisted_at, left_status FROM invoice
      WHERE invoice_no IN ${placeholders(numbers.length)}`,
    numbers,
  );
  return new Map(
    rows.map((row) => [
      row.invoice_no,
      {
        invoiceNo: row.invoice_no,
        customerCode: row.customer_code,
        amount: Number(row.amount),
        dueDate: row.due_date,
        status: row.status,
        firstListedAt: Number(row.first_listed_at),
        unlistedAt: row.unlisted_at === null ? null : Number(row.unlisted_at),
        leftStatus: row.left_status,
      },
    ]),
  );
}

/** Numbers of invoices that were added, changed or taken off since then, in their order, after this one. */
export async function invoicesChangedSince(tx: Tx, sinceMs: number, after: string, limit: number): Promise<string[]> {
  const rows = await tx.select<{ invoice_no: string }>(
    `SELECT invoice_no FROM invoice WHERE last_listed_at>=? AND invoice_no>?
      UNION SELECT invoice_no FROM invoice WHERE unlisted_at>=? AND invoice_no>?
      ORDER BY invoice_no LIMIT ${Math.trunc(limit)}`,
    [sinceMs, after, sinceMs, after],
  );
  return rows.map((row) => row.invoice_no);
}

/** Numbers of all that is known, in their order, after this one. */
export async function invoiceNumbersAfter(tx: Tx, after: string, limit: number): Promise<string[]> {
  const rows = await tx.select<{ invoice_no: string }>(
    `SELECT invoice_no FROM invoice WHERE invoice_no>? ORDER BY invoice_no LIMIT ${Math.trunc(limit)}`,
    [after],
  );
  return rows.map((row) => row.invoice_no);
}
