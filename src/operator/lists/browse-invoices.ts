import {
  countLeftInvoices,
  type InvoiceList,
  type InvoiceSheet,
  invoicesAfter,
  type ListedInvoice,
  listHeldInvoices,
  listLeftInvoices,
  sumListed,
} from '../../inbound/invoices/list-invoices.js';
import { type LastPull, lastPull } from '../../inbound/invoices/pull-record.js';
import { sourceOf } from '../../model/record.js';
import { placeholders } from '../../store/rows.js';
import type { Tx } from '../../store/store.js';
import { mostCounted } from './browse.js';

type Sums = Pick<InvoiceSheet, 'count' | 'sum'>;

export interface InvoicePage {
  list: InvoiceList | 'left';
  rows: ListedInvoice[];
  next: PlaceOnPage | null;
  /** The same figures as those of `waybill invoices`. */
  all: Sums;
  credit: Sums;
  heldCount: number;
  /** `mostCounted`: that many or more. */
  leftCount: number;
  months: Awaited<ReturnType<typeof sumListed>>['months'];
  left: (ListedInvoice & { since: string; left_status: string | null })[];
}

/** The last invoice of a page, and what its list is sorted by: the due date, or when it left. */
interface PlaceOnPage {
  after: string;
  invoiceNo: string;
}

type Place = { dueDate: string; invoiceNo: string } | null;

/** A page of the invoices, due first at the top. */
async function invoiceRows(
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

/** The number of changes of the list behind a line of the audit. */
interface ListChanges {
  behind: number;
  count: number;
}

/** Ids are given before the commit: lines of transactions that are under way get in behind this many. */
const linesUnderWay = 1_000;

/** Counts by the audit, which has a line in each transaction that changes the list: clocks of several machines differ. */
async function listChanges(tx: Tx, since: number | null): Promise<ListChanges> {
  const behind = since ?? ((await tx.value<number>('SELECT MAX(id) FROM audit_log')) ?? 0) - linesUnderWay;
  const count = await tx.value<number>(
    `SELECT COUNT(*) FROM audit_log WHERE event IN ('pull','webhook','operator') AND id>?
        AND outcome IN ('proven','unproven','held','changed','confirm_drop')`,
    [behind],
  );
  return { behind, count: count ?? 0 };
}

type PlaceInList = NonNullable<Place> & { seen: ListChanges };

/**
 * The next invoices of a list that is read to its end, some at a time. A change in between may move invoices past the place where
 * the reading stands, so that one comes twice or not at all; null: the list has changed, and what was read is no list of any moment.
 */
export async function invoicesInTurn(
  tx: Tx,
  list: InvoiceList,
  after: PlaceInList | null,
  limit: number,
): Promise<{ rows: ListedInvoice[]; next: PlaceInList | null } | null> {
  // First before the rows, later behind them: a change beside either of them shows.
  const first = after === null ? await listChanges(tx, null) : after.seen;
  const { rows, next } = await invoiceRows(tx, list, after, limit);
  if (after !== null && (await listChanges(tx, first.behind)).count !== first.count) return null;
  return { rows, next: next && { ...next, seen: first } };
}

/** A page of the invoices, with what stands above it. */
export async function browseInvoices(
  tx: Tx,
  list: InvoiceList | 'left',
  place: PlaceOnPage | null,
  limit: number,
  time: (ms: number) => string,
): Promise<{ page: InvoicePage; pull: LastPull | null }> {
  const { due, credit, months } = await sumListed(tx);
  const { rows, left, next } =
    list === 'left' ? await leftRows(tx, place, limit) : await dueRows(tx, list, place, limit);
  return {
    page: {
      list,
      rows,
      next,
      all: due,
      credit,
      heldCount: (await listHeldInvoices(tx, 1)).count,
      leftCount: await countLeftInvoices(tx, mostCounted),
      months: list === 'due' ? months : [],
      left: left.map((one) => ({ ...one, since: time(one.unlisted_at) })),
    },
    pull: await lastPull(tx),
  };
}

async function dueRows(tx: Tx, list: InvoiceList, place: PlaceOnPage | null, limit: number) {
  const after = place && { dueDate: place.after, invoiceNo: place.invoiceNo };
  const { rows, next } = await invoiceRows(tx, list, after, limit);
  return { rows, left: [], next: next && { after: next.dueDate, invoiceNo: next.invoiceNo } };
}

async function leftRows(tx: Tx, place: PlaceOnPage | null, limit: number) {
  const unlistedAt = Number(place?.after);
  const after = place && Number.isSafeInteger(unlistedAt) ? { unlistedAt, invoiceNo: place.invoiceNo } : null;
  const found = await listLeftInvoices(tx, limit + 1, after);
  const left = found.slice(0, limit);
  const last = found.length > limit ? left.at(-1) : undefined;
  return { rows: [], left, next: last ? { after: String(last.unlisted_at), invoiceNo: last.invoice_no } : null };
}

/** The source of each customer that the service calls by one of these ids; one that none of ours has is not among them. */
export async function customerSources(tx: Tx, serviceIds: readonly (string | null)[]): Promise<Map<string, string>> {
  const asked = [...new Set(serviceIds.filter((id) => id !== null))];
  const sources = new Map<string, string>();
  for (let from = 0; from < asked.length; from += 500) {
    const ids = asked.slice(from, from + 500);
    const rows = await tx.rows<{ serviceId: string; sourceKey: string }>(
      `SELECT service_id, source_key FROM binding WHERE entity='customer' AND service_id IN ${placeholders(ids.length)}`,
      ids,
    );
    for (const { serviceId, sourceKey } of rows) sources.set(serviceId, sourceOf(sourceKey) || 'default');
  }
  return sources;
}
