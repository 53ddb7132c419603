import type { Fact } from '../../model/facts/fact.js';
import { factOf } from '../../store/fact-columns.js';
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

/** The invoices that are listed as due now. Credit notes are apart: there is no money to chase. */
export async function listInvoices(tx: Tx, limit: number): Promise<InvoiceSheet & { creditNotes: InvoiceSheet }> {
  const due = await sheet(tx, 'due', limit);
  return { ...due, creditNotes: await sheet(tx, 'credit', limit) };
}

/** The invoices that a hold keeps listed until a person confirms that they have left. */
export async function listHeldInvoices(tx: Tx, limit: number): Promise<InvoiceSheet> {
  return sheet(tx, 'held', limit);
}

/** One page of the list: invoices, credit notes, or rows that a hold keeps listed. */
const invoiceLists = {
  due: 'unlisted_at IS NULL AND amount>=0',
  credit: 'unlisted_at IS NULL AND amount<0',
  // Few are held, and SQLite would rather walk through all that are listed.
  held: 'drop_held_at>=0 AND COALESCE(unlisted_at,-1)=-1',
} as const;
export type InvoiceList = keyof typeof invoiceLists;

/** Listed invoices after this one, in the order of their due dates. */
export async function invoicesAfter(
  tx: Tx,
  list: InvoiceList,
  after: { dueDate: string; invoiceNo: string } | null,
  limit: number,
): Promise<ListedInvoice[]> {
  const rest = after === null ? '' : 'AND due_date>=? AND (due_date>? OR invoice_no>?)';
  return tx.select<ListedInvoice>(
    `SELECT invoice_no, customer_code, amount, due_date, status FROM invoice
      WHERE ${invoiceLists[list]} ${rest} ORDER BY due_date, invoice_no LIMIT ${Math.trunc(limit)}`,
    after === null ? [] : [after.dueDate, after.dueDate, after.invoiceNo],
  );
}

interface Sums {
  count: number;
  /** In minor units. */
  sum: string;
}

/** The sums of all that is listed, invoices and credit notes apart, and the invoices by the month in which they are due. */
export async function sumListed(tx: Tx): Promise<{ due: Sums; credit: Sums; months: (Sums & { month: string })[] }> {
  const sums = (condition: string, name: string) =>
    `COUNT(CASE WHEN ${condition} THEN 1 END) AS ${name}_count,
     ${tx.dialect.sumText(`CASE WHEN ${condition} THEN amount END`)} AS ${name}_sum`;
  // Grouped by day, in the order of the index: by month, the database would sort all of them first.
  type Day = {
    due_date: string;
    due_count: number;
    due_sum: string | null;
    credit_count: number;
    credit_sum: string | null;
  };
  const days = await tx.select<Day>(
    `SELECT due_date, ${sums('amount>=0', 'due')}, ${sums('amount<0', 'credit')}
       FROM invoice WHERE unlisted_at IS NULL GROUP BY due_date ORDER BY due_date`,
  );
  const all = { due: { count: 0, sum: 0n }, credit: { count: 0, sum: 0n } };
  const months = new Map<string, { count: number; sum: bigint }>();
  for (const day of days) {
    const month = day.due_date.slice(0, 7);
    const known = months.get(month) ?? { count: 0, sum: 0n };
    months.set(month, known);
    for (const [total, count, amount] of [
      [all.due, day.due_count, day.due_sum],
      [known, day.due_count, day.due_sum],
      [all.credit, day.credit_count, day.credit_sum],
    ] as const) {
      total.count += Number(count);
      total.sum += tx.dialect.toSum(amount);
    }
  }
  const asText = ({ count, sum }: { count: number; sum: bigint }) => ({ count, sum: String(sum) });
  return {
    due: asText(all.due),
    credit: asText(all.credit),
    months: [...months].filter(([, { count }]) => count > 0).map(([month, total]) => ({ month, ...asText(total) })),
  };
}

async function sheet(tx: Tx, list: InvoiceList, limit: number): Promise<InvoiceSheet> {
  const rows = await invoicesAfter(tx, list, null, limit);
  const [all] = await tx.rows<{ count: number; sum: string | null }>(
    `SELECT COUNT(*) AS count, ${tx.dialect.sumText('amount')} AS sum FROM invoice WHERE ${invoiceLists[list]}`,
  );
  return { rows, count: all?.count ?? 0, sum: String(tx.dialect.toSum(all?.sum ?? null)) };
}

/** The number of invoices that are listed as due now, credit notes among them. */
export async function countListedInvoices(tx: Tx): Promise<number> {
  return (await tx.value<number>('SELECT COUNT(*) FROM invoice WHERE unlisted_at IS NULL')) ?? 0;
}

interface LeftInvoice extends ListedInvoice {
  unlisted_at: number;
  /** Its state in the service's words, where Waybill asked for it by its number; null: it left, and no more is known. */
  left_status: string | null;
}

/** Invoices that are no longer listed, the last to leave first, after this one. */
export async function listLeftInvoices(
  tx: Tx,
  limit: number,
  after: { unlistedAt: number; invoiceNo: string } | null = null,
): Promise<LeftInvoice[]> {
  const rest = after === null ? '' : 'AND unlisted_at<=? AND (unlisted_at<? OR invoice_no>?)';
  return tx.select(
    `SELECT invoice_no, customer_code, amount, due_date, status, unlisted_at, left_status FROM invoice
      WHERE unlisted_at IS NOT NULL ${rest} ORDER BY unlisted_at DESC, invoice_no LIMIT ${Math.trunc(limit)}`,
    after === null ? [] : [after.unlistedAt, after.unlistedAt, after.invoiceNo],
  );
}

/** The number of invoices that are no longer listed; `most`: that many or more. They are kept for ever. */
export async function countLeftInvoices(tx: Tx, most: number): Promise<number> {
  const some = `SELECT 1 AS one FROM invoice WHERE unlisted_at IS NOT NULL LIMIT ${Math.trunc(most)}`;
  return (await tx.value<number>(`SELECT COUNT(*) FROM (${some}) AS s`)) ?? 0;
}

/** Rows of the service's list that are invalid. */
export async function listMalformedInvoices(tx: Tx, limit: number) {
  const rows = await tx.select<{ invoice_no: string | null; code: string; data: string; since_at: number }>(
    `SELECT invoice_no, reason_code AS code, reason_data AS data, since_at FROM invoice_malformed
      ORDER BY since_at, COALESCE(invoice_no, '') LIMIT ${Math.trunc(limit)}`,
  );
  return rows.map(({ invoice_no, code, data, since_at }) => ({
    invoice_no,
    reason: factOf(code, data) as Fact,
    since_at,
  }));
}
