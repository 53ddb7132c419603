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

export async function knownInvoices(tx: Tx, numbers: readonly string[]): Promise<KnownInvoice[]> {
  if (numbers.length === 0) return [];
  return tx.rows(
    `SELECT invoice_no, customer_code, amount, due_date, status, first_listed_at, unlisted_at, left_status FROM invoice
      WHERE invoice_no IN ${placeholders(numbers.length)}`,
    numbers,
  );
}

/** Numbers of all known invoices after this one, in their order. */
export async function invoiceNumbersAfter(tx: Tx, after: string, limit: number): Promise<string[]> {
  const rows = await tx.rows<KnownInvoice>(
    `SELECT invoice_no FROM invoice WHERE invoice_no>? ORDER BY invoice_no LIMIT ${Math.trunc(limit)}`,
    [after],
  );
  return rows.map(({ invoiceNo }) => invoiceNo);
}

/** A row as `waybill invoices --json` prints it. */
interface ListedInvoice {
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

/** The invoices that are listed as due now. Credit notes are apart: there is no money to chase. */
export async function listInvoices(tx: Tx, limit: number): Promise<InvoiceSheet & { creditNotes: InvoiceSheet }> {
  const due = await sheet(tx, 'amount>=0', limit);
  return { ...due, creditNotes: await sheet(tx, 'amount<0', limit) };
}

/** The invoices that a brake keeps listed until a person confirms that they have left. */
export async function listHeldInvoices(tx: Tx, limit: number): Promise<InvoiceSheet> {
  return sheet(tx, 'drop_held_at IS NOT NULL', limit);
}

async function sheet(tx: Tx, which: string, limit: number): Promise<InvoiceSheet> {
  const rows = await tx.select<ListedInvoice>(
    `SELECT invoice_no, customer_code, amount, due_date, status FROM invoice WHERE unlisted_at IS NULL AND ${which}
      ORDER BY due_date, invoice_no LIMIT ${Math.trunc(limit)}`,
  );
  const [all] = await tx.rows<{ count: number; sum: string | null }>(
    `SELECT COUNT(*) AS count, ${tx.dialect.asText('SUM(amount)')} AS sum FROM invoice WHERE unlisted_at IS NULL AND ${which}`,
  );
  return { rows, count: all?.count ?? 0, sum: all?.sum ?? '0' };
}

/** How many invoices are listed as due now, credit notes among them. */
export async function countListedInvoices(tx: Tx): Promise<number> {
  return (await tx.value<number>('SELECT COUNT(*) FROM invoice WHERE unlisted_at IS NULL')) ?? 0;
}

interface LeftInvoice extends ListedInvoice {
  unlisted_at: number;
  /** Its state in the service's words, where Waybill asked for it by its number; null: it left, and no more is known. */
  left_status: string | null;
}

/** Invoices that are no longer listed, the last to leave first. */
export async function listLeftInvoices(tx: Tx, limit: number): Promise<LeftInvoice[]> {
  return tx.select(
    `SELECT invoice_no, customer_code, amount, due_date, status, unlisted_at, left_status FROM invoice
      WHERE unlisted_at IS NOT NULL ORDER BY unlisted_at DESC, invoice_no LIMIT ${Math.trunc(limit)}`,
  );
}

/** Rows of the service's list that make no sense. */
export async function listMalformedInvoices(tx: Tx, limit: number) {
  return tx.select<{ invoice_no: string | null; reason: string; since_at: number }>(
    `SELECT invoice_no, reason, since_at FROM invoice_malformed ORDER BY since_at, COALESCE(invoice_no, '') LIMIT ${Math.trunc(limit)}`,
  );
}
