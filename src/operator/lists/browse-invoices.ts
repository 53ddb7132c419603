import {
  type InvoiceList,
  type InvoiceSheet,
  invoicesAfter,
  type ListedInvoice,
  listHeldInvoices,
  listLeftInvoices,
  sumListed,
} from '../../inbound/invoices/list-invoices.js';
import { type LastPull, lastPull } from '../../inbound/invoices/pull-record.js';
import type { Tx } from '../../store/store.js';

type Sums = Pick<InvoiceSheet, 'count' | 'sum'>;

export interface InvoicePage {
  list: InvoiceList | 'left';
  rows: ListedInvoice[];
  next: { dueDate: string; invoiceNo: string } | null;
  /** The same figures as those of `waybill invoices`. */
  all: Sums;
  credit: Sums;
  heldCount: number;
  months: Awaited<ReturnType<typeof sumListed>>['months'];
  left: (ListedInvoice & { since: string; left_status: string | null })[];
}

type Place = InvoicePage['next'];

/** A page of the invoices, due first at the top. */
export async function invoiceRows(
  tx: Tx,
  list: InvoiceList,
  after: Place,
  limit: number,
): Promise<{ rows: ListedInvoice[]; next: Place }> {
  const found = await invoicesAfter(tx, list, after, limit + 1);
  const rows = found.slice(0, limit);
  const last = found.length > limit ? rows.at(-1) : undefined;
  return { rows, next: last ? { dueDate: last.due_date, invoiceNo: last.invoice_no } : null };
}

/** A page of the invoices, with what stands above it. */
export async function browseInvoices(
  tx: Tx,
  list: InvoiceList | 'left',
  after: Place,
  limit: number,
  time: (ms: number) => string,
): Promise<{ page: InvoicePage; pull: LastPull | null }> {
  const { due, credit, months } = await sumListed(tx);
  const { rows, next } = list === 'left' ? { rows: [], next: null } : await invoiceRows(tx, list, after, limit);
  const left = list === 'left' ? await listLeftInvoices(tx, limit) : [];
  return {
    page: {
      list,
      rows,
      next,
      all: due,
      credit,
      heldCount: (await listHeldInvoices(tx, 1)).count,
      months: list === 'due' ? months : [],
      left: left.map((one) => ({ ...one, since: time(one.unlisted_at) })),
    },
    pull: await lastPull(tx),
  };
}
