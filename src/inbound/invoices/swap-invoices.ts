import { insertRows, placeholders, updateFrom } from '../../store/rows.js';
import type { Tx } from '../../store/store.js';
import { markFoundDue } from '../../store/write-back-due.js';
import type { KnownInvoice } from './list-invoices.js';

/** A condition on `invoice`: the list that it would stand on is proven, so an invoice that is not on it has left. */
export const listIsProven = `EXISTS (SELECT 1 FROM invoice_group g WHERE g.is_proven=1
    AND (g.list_kind='all' OR g.list_customer=invoice.customer_code))`;

const staged = 'SELECT * FROM invoice_staging WHERE is_newest=1 AND malformed_code IS NULL AND has_left=0';

/** The invoices that are due by their own reads; they stand in no list of the service. */
const stagedOwnReads = `${staged} AND list_kind='own'`;

const differs = `(t.amount<>v.amount OR t.due_date<>v.due_date OR t.status<>v.status
    OR COALESCE(t.customer_code,'')<>COALESCE(v.customer_code,'') OR t.unlisted_at IS NOT NULL OR t.missed_at IS NOT NULL)`;

/** A condition on `invoice`: the pull met it. */
export const isStaged =
  'EXISTS (SELECT 1 FROM invoice_staging s WHERE s.invoice_no=invoice.invoice_no AND s.has_left=0)';

const hasLeft = 'EXISTS (SELECT 1 FROM invoice_staging s WHERE s.invoice_no=invoice.invoice_no AND s.has_left=1)';

/** The service itself says in which state the invoice has left. */
const hasLeftInState = `EXISTS (SELECT 1 FROM invoice_staging s
    WHERE s.invoice_no=invoice.invoice_no AND s.has_left=1 AND s.status IS NOT NULL)`;

/** A condition on `invoice`: it leaves by what is missing (from the list, or at its own address), not by a state that is said of it. */
export const isDropped = `unlisted_at IS NULL AND (${hasLeft} OR (${listIsProven} AND NOT ${isStaged})) AND NOT ${hasLeftInState}`;

/** Invoices that the staged list shows in another way than they are known, or again after they had left. */
export async function differingInvoices(tx: Tx, limit: number): Promise<KnownInvoice[]> {
  return tx.rows(
    `SELECT t.invoice_no, t.customer_code, t.amount, t.due_date, t.status, t.first_listed_at, t.unlisted_at, t.left_status
       FROM invoice t JOIN (${staged}) v ON v.invoice_no=t.invoice_no WHERE ${differs}
      ORDER BY t.invoice_no LIMIT ${Math.trunc(limit)}`,
  );
}

/** A condition on `invoice`: a hold keeps it on the list. */
export const isKept = 'drop_held_at IS NOT NULL AND unlisted_at IS NULL';

export interface Swapped {
  added: number;
  changed: number;
  unlisted: number;
  /** Listed still, although the pull did not meet them: nothing proves that they have left. */
  missed: number;
}

/**
 * Makes the staged rows the list, in the caller's transaction, so that no reader sees half of it. Rows that did not change are
 * not written. An invoice leaves by the proof of its list or by its own read; its row stays, with the time.
 * @param isHeld a hold keeps the list as it was: only what invoices' own reads say counts
 */
export async function swapInvoices(tx: Tx, nowMs: number, isHeld = false): Promise<Swapped> {
  const due = isHeld ? stagedOwnReads : staged;
  const changed = await updateFrom(
    tx,
    'invoice',
    {
      set: {
        customer_code: 'v.customer_code',
        amount: 'v.amount',
        due_date: 'v.due_date',
        status: 'v.status',
        last_listed_at: '?',
        unlisted_at: 'NULL',
        missed_at: 'NULL',
        left_status: 'NULL',
      },
      source: due,
      on: 'v.invoice_no=t.invoice_no',
      where: differs,
    },
    [nowMs],
  );
  const added = await tx.run(
    `INSERT INTO invoice (invoice_no, customer_code, amount, due_date, status, first_listed_at, last_listed_at)
     SELECT s.invoice_no, s.customer_code, s.amount, s.due_date, s.status, ?, ? FROM (${due}) s
      WHERE NOT EXISTS (SELECT 1 FROM invoice i WHERE i.invoice_no=s.invoice_no)`,
    [nowMs, nowMs],
  );
  const unlisted = await tx.run(
    `UPDATE invoice SET unlisted_at=?, missed_at=NULL, drop_held_at=NULL,
            left_status=(SELECT MAX(s.status) FROM invoice_staging s WHERE s.invoice_no=invoice.invoice_no AND s.has_left=1)
      WHERE unlisted_at IS NULL AND (${hasLeftInState} OR (${isHeld ? '1=0' : `drop_held_at IS NULL AND ${isDropped}`}))`,
    [nowMs],
  );
  await tx.run(
    `UPDATE invoice SET missed_at=?
      WHERE unlisted_at IS NULL AND missed_at IS NULL AND NOT ${isStaged}`,
    [nowMs],
  );
  // The pull met it, although the row makes no sense.
  await tx.run(`UPDATE invoice SET missed_at=NULL WHERE missed_at IS NOT NULL AND ${isStaged}`);
  await markFoundDue(
    tx,
    'invoices',
    'SELECT invoice_no FROM invoice WHERE last_listed_at=? UNION SELECT invoice_no FROM invoice WHERE unlisted_at=?',
    [nowMs, nowMs],
  );
  const missed = await tx.value<number>('SELECT COUNT(*) FROM invoice WHERE missed_at IS NOT NULL');
  if (!isHeld) await swapMalformed(tx, nowMs);
  return { added, changed, unlisted, missed: missed ?? 0 };
}

/** A row stays set aside as long as pulls meet it and it makes no sense, or do not meet it and prove nothing. */
async function swapMalformed(tx: Tx, nowMs: number): Promise<void> {
  const same = 's.list_customer=m.list_customer AND s.list_state=m.list_state AND s.row_key=m.row_key';
  const odd = `SELECT 1 FROM invoice_staging s WHERE s.list_customer=invoice_malformed.list_customer
      AND s.list_state=invoice_malformed.list_state AND s.row_key=invoice_malformed.row_key`;
  await tx.run(
    `DELETE FROM invoice_malformed WHERE NOT EXISTS (${odd} AND s.malformed_code IS NOT NULL)
        AND (EXISTS (${odd}) OR NOT EXISTS (SELECT 1 FROM invoice_group g
              WHERE g.list_customer=invoice_malformed.list_customer AND g.is_proven=0))`,
  );
  await tx.run(
    `INSERT INTO invoice_malformed (list_kind, list_customer, list_state, row_key, invoice_no, reason_code, reason_data, since_at)
     SELECT s.list_kind, s.list_customer, s.list_state, s.row_key, s.invoice_no, s.malformed_code, s.malformed_data, ? FROM invoice_staging s
      WHERE s.malformed_code IS NOT NULL AND NOT EXISTS (SELECT 1 FROM invoice_malformed m WHERE ${same})`,
    [nowMs],
  );
}

interface NewState {
  status: string;
  /** One that has it. */
  invoiceNo: string;
}

/** States among the staged invoices that the settings do not name and no pull met before. Each is reported once. */
export async function noteNewStates(tx: Tx, states: readonly string[], nowMs: number): Promise<NewState[]> {
  const rows = await tx.rows<NewState>(
    `SELECT s.status, MIN(s.invoice_no) AS invoice_no FROM invoice_staging s
      WHERE s.status IS NOT NULL AND s.has_left=0 AND s.status NOT IN ${placeholders(states.length)}
        AND NOT EXISTS (SELECT 1 FROM invoice_state k WHERE k.status=s.status)
      GROUP BY s.status ORDER BY s.status LIMIT 50`,
    states,
  );
  await insertRows(
    tx,
    'invoice_state',
    rows.map((row) => ({ ...row, sinceAt: nowMs })),
  );
  return rows;
}
