import type { ListFact } from '../../model/facts/lists.js';
import { outside } from '../../model/outside.js';
import type { Invoice } from '../../model/record.js';
import type { Tx } from '../../store/store.js';
import { markDue } from '../../store/write-back-due.js';
import type { MissedInvoice, OwnRead } from './own-read.js';
import { stageOwnRead } from './staging.js';

type AnnouncedInvoice = MissedInvoice & { isKnown: boolean };

/** The stored facts of an invoice, or an invoice without any. */
export async function announcedInvoice(tx: Tx, invoiceNo: string): Promise<AnnouncedInvoice> {
  const [row] = await tx.rows('SELECT customer_code, status, unlisted_at FROM invoice WHERE invoice_no=?', [invoiceNo]);
  return {
    invoiceNo,
    customerCode: row?.customerCode ?? null,
    status: row?.status ?? '',
    isOffList: (row?.unlistedAt ?? null) !== null,
    isKnown: row !== undefined,
  };
}

/**
 * Brings the list in line with an invoice's own read at once, outside of a pull. A pull that is under way may have met an older
 * state of it, or may meet one later, so the read is staged as well; the next pull begins without it.
 * @param sentAtMs when it was asked for; "due" counts for nothing where the list has learnt more since
 * @returns what changed; null: nothing
 */
export async function applyOwnRead(
  tx: Tx,
  { invoiceNo, isKnown }: AnnouncedInvoice,
  said: OwnRead,
  sentAtMs: number,
  nowMs: number,
): Promise<ListFact | null> {
  if ('odd' in said || ('due' in said && (await hasChangedSince(tx, invoiceNo, sentAtMs)))) return null;
  // An event may come before the invoice can be read: an invoice that is not there yet has not left.
  if ('left' in said && said.left === null && !isKnown) return null;
  await stageOwnRead(tx, invoiceNo, 'due' in said ? said.due : null, 'left' in said ? said.left : null);
  const change = await ('left' in said ? takeOff(tx, invoiceNo, said.left, nowMs) : list(tx, said.due, nowMs));
  if (change !== null) await markDue(tx, 'invoices', [invoiceNo]);
  return change;
}

async function hasChangedSince(tx: Tx, invoiceNo: string, ms: number): Promise<boolean> {
  const sql = 'SELECT 1 AS n FROM invoice WHERE invoice_no=? AND (last_listed_at>? OR unlisted_at>?)';
  return (await tx.value(sql, [invoiceNo, ms, ms])) !== undefined;
}

async function takeOff(tx: Tx, invoiceNo: string, status: string | null, nowMs: number): Promise<ListFact | null> {
  const left = await tx.run(
    'UPDATE invoice SET unlisted_at=?, missed_at=NULL, drop_held_at=NULL, left_status=? WHERE invoice_no=? AND unlisted_at IS NULL',
    [nowMs, status, invoiceNo],
  );
  if (left > 0) return { code: 'invoice_unlisted', state: status === null ? null : outside(status) };
  // A pull took it off first, and nothing had said yet what became of it.
  if (status === null) return null;
  const learnt = await tx.run(
    'UPDATE invoice SET left_status=?, last_listed_at=? WHERE invoice_no=? AND left_status IS NULL',
    [status, nowMs, invoiceNo],
  );
  return learnt > 0 ? { code: 'invoice_had_left', state: outside(status) } : null;
}

async function list(tx: Tx, invoice: Invoice, nowMs: number): Promise<ListFact | null> {
  const { invoice_no, amount, due_date, status, customer_code = null } = invoice;
  const changed = await tx.run(
    `UPDATE invoice SET customer_code=?, amount=?, due_date=?, status=?, last_listed_at=?, unlisted_at=NULL, missed_at=NULL,
            left_status=NULL, drop_held_at=NULL
      WHERE invoice_no=? AND (amount<>? OR due_date<>? OR status<>? OR COALESCE(customer_code,'')<>COALESCE(?,'')
            OR unlisted_at IS NOT NULL OR drop_held_at IS NOT NULL)`,
    [customer_code, amount, due_date, status, nowMs, invoice_no, amount, due_date, status, customer_code],
  );
  const isNew = await tx.insertNew(
    `INSERT INTO invoice (invoice_no, customer_code, amount, due_date, status, first_listed_at, last_listed_at)
     VALUES (?,?,?,?,?,?,?)`,
    [invoice_no, customer_code, amount, due_date, status, nowMs, nowMs],
  );
  return changed > 0 || isNew ? { code: 'invoice_listed', state: outside(status) } : null;
}
