import type { Tx } from '../../store/store.js';
import type { MissedInvoice, OwnRead } from './own-read.js';
import { stageOwnRead } from './staging.js';

export type AnnouncedInvoice = MissedInvoice & { isKnown: boolean };

/** What is known of an invoice, or an invoice of which nothing is known yet. */
export async function knownInvoice(tx: Tx, invoiceNo: string): Promise<AnnouncedInvoice> {
  const [row] = await tx.select('SELECT customer_code, status, unlisted_at FROM invoice WHERE invoice_no=?', [
    invoiceNo,
  ]);
  return {
    invoiceNo,
    customerCode: row?.customer_code ?? null,
    status: row?.status ?? '',
    isOffList: (row?.unlisted_at ?? null) !== null,
    isKnown: row !== undefined,
  };
}

/**
 * Makes what an invoice's own read says the list's truth at once, outside of a pull. A pull that is under way may have met an
 * older state of it, or meet it later, so the read is staged as well; the next pull begins without it.
 * @returns what changed, in words; null: nothing
 */
export async function applyOwnRead(
  tx: Tx,
  known: AnnouncedInvoice,
  said: OwnRead,
  nowMs: number,
): Promise<string | null> {
  if ('odd' in said) return null;
  const { invoiceNo } = known;
  // An event may come before the invoice can be read: that there is none yet does not mean that it has left.
  if ('left' in said && said.left === null && !known.isKnown) return null;
  await stageOwnRead(tx, invoiceNo, 'due' in said ? said.due : null, 'left' in said ? said.left : null);
  if ('left' in said) {
    const left = await tx.run(
      'UPDATE invoice SET unlisted_at=?, missed_at=NULL, left_status=? WHERE invoice_no=? AND unlisted_at IS NULL',
      [nowMs, said.left, invoiceNo],
    );
    if (left > 0) return `no longer listed: ${said.left ?? 'the service has no such invoice'}`;
    // A pull took it off first, and nobody had said yet what became of it.
    const learnt = await tx.run(
      'UPDATE invoice SET left_status=?, last_listed_at=? WHERE invoice_no=? AND left_status IS NULL AND ? IS NOT NULL',
      [said.left, nowMs, invoiceNo, said.left],
    );
    return learnt > 0 ? `it had left already: ${said.left}` : null;
  }
  const { amount, due_date, status, customer_code } = said.due;
  const customer = customer_code ?? null;
  const changed = await tx.run(
    `UPDATE invoice SET customer_code=?, amount=?, due_date=?, status=?, last_listed_at=?, unlisted_at=NULL, missed_at=NULL,
            left_status=NULL
      WHERE invoice_no=? AND (amount<>? OR due_date<>? OR status<>? OR COALESCE(customer_code,'')<>COALESCE(?,'')
            OR unlisted_at IS NOT NULL)`,
    [customer, amount, due_date, status, nowMs, invoiceNo, amount, due_date, status, customer],
  );
  if (changed > 0) return `listed as ${status}`;
  const [there] = await tx.select('SELECT 1 AS n FROM invoice WHERE invoice_no=?', [invoiceNo]);
  if (there) return null;
  await tx.run(
    `INSERT INTO invoice (invoice_no, customer_code, amount, due_date, status, first_listed_at, last_listed_at)
     VALUES (?,?,?,?,?,?,?)`,
    [invoiceNo, customer, amount, due_date, status, nowMs, nowMs],
  );
  return `listed as ${status}`;
}
