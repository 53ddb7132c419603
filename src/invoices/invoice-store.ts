import type { Invoice } from '../model/invoice.js';
import { upsertRows } from '../store/rows.js';
import type { Tx } from '../store/store.js';

export interface PullCounts {
  pages: number;
  /** Distinct invoices that were staged. */
  listed: number;
  /** `total` of the last page. */
  serviceTotal: number | null;
  malformed: number;
}

export interface SwapCounts {
  added: number;
  changed: number;
  unlisted: number;
}

/** Begins a pull, forgets what earlier ones left in staging, and closes the one that a killed process left open. */
export async function startPull(tx: Tx, status: string, nowMs: number): Promise<number> {
  await tx.run('DELETE FROM invoice_staging');
  await tx.run(
    "UPDATE invoice_pull SET outcome='failed', ended_at=?, reason='The process stopped before the pull ended.' WHERE outcome='running'",
    [nowMs],
  );
  return tx.insertReturningId(
    "INSERT INTO invoice_pull (filter_status, outcome, started_at) VALUES (?, 'running', ?)",
    [status, nowMs],
  );
}

/** Stages a page. An invoice that is met twice counts once. */
export async function stageInvoices(tx: Tx, pullId: number, invoices: readonly Invoice[]): Promise<void> {
  await upsertRows(
    tx,
    'invoice_staging',
    ['pull_id', 'invoice_no'],
    invoices.map((invoice) => ({
      pull_id: pullId,
      invoice_no: invoice.invoice_no,
      customer_code: invoice.customer_code ?? null,
      amount: invoice.amount,
      due_date: invoice.due_date,
      status: invoice.status,
    })),
  );
}

/** Begins the list anew: what was staged belongs to a list that has changed since. */
export async function clearStaging(tx: Tx, pullId: number): Promise<void> {
  await tx.run('DELETE FROM invoice_staging WHERE pull_id=?', [pullId]);
}

export async function stagedCount(tx: Tx, pullId: number): Promise<number> {
  const [row] = await tx.select<{ n: number }>('SELECT COUNT(*) AS n FROM invoice_staging WHERE pull_id=?', [pullId]);
  return Number(row?.n ?? 0);
}

const differs = (a: string, b: string) =>
  `(${a}.amount<>${b}.amount OR ${a}.due_date<>${b}.due_date OR ${a}.status<>${b}.status
    OR COALESCE(${a}.customer_code,'')<>COALESCE(${b}.customer_code,'') OR ${a}.unlisted_at IS NOT NULL)`;

/**
 * Makes the staged list the list, in the caller's one transaction, so that no reader sees half of it. Rows that did not
 * change are not written. What is no longer listed stays, with the time it left: that is not the same as paid.
 * @param isComplete false when some invoices could not be read: then none is called "no longer listed"
 */
export async function swapInvoices(tx: Tx, pullId: number, nowMs: number, isComplete: boolean): Promise<SwapCounts> {
  const staged = 'SELECT * FROM invoice_staging WHERE pull_id=?';
  const changed =
    tx.dialect === 'sqlite'
      ? await tx.run(
          `UPDATE invoice AS i SET customer_code=s.customer_code, amount=s.amount, due_date=s.due_date, status=s.status,
                  last_listed_at=?, unlisted_at=NULL
             FROM (${staged}) AS s WHERE s.invoice_no=i.invoice_no AND ${differs('i', 's')}`,
          [nowMs, pullId],
        )
      : await tx.run(
          `UPDATE invoice AS i JOIN (${staged}) AS s ON s.invoice_no=i.invoice_no
              SET i.customer_code=s.customer_code, i.amount=s.amount, i.due_date=s.due_date, i.status=s.status,
                  i.last_listed_at=?, i.unlisted_at=NULL
            WHERE ${differs('i', 's')}`,
          [pullId, nowMs],
        );
  const added = await tx.run(
    `INSERT INTO invoice (invoice_no, customer_code, amount, due_date, status, first_listed_at, last_listed_at)
     SELECT s.invoice_no, s.customer_code, s.amount, s.due_date, s.status, ?, ? FROM invoice_staging s
      WHERE s.pull_id=? AND NOT EXISTS (SELECT 1 FROM invoice i WHERE i.invoice_no=s.invoice_no)`,
    [nowMs, nowMs, pullId],
  );
  const unlisted = isComplete
    ? await tx.run(
        `UPDATE invoice SET unlisted_at=? WHERE unlisted_at IS NULL
            AND NOT EXISTS (SELECT 1 FROM invoice_staging s WHERE s.pull_id=? AND s.invoice_no=invoice.invoice_no)`,
        [nowMs, pullId],
      )
    : 0;
  await tx.run('DELETE FROM invoice_staging WHERE pull_id=?', [pullId]);
  return { added, changed, unlisted };
}

export async function endPull(
  tx: Tx,
  pullId: number,
  outcome: 'complete' | 'incomplete' | 'failed',
  reason: string | null,
  counts: PullCounts,
  swap: SwapCounts,
  nowMs: number,
): Promise<void> {
  await tx.run(
    `UPDATE invoice_pull SET outcome=?, reason=?, ended_at=?, pages=?, listed=?, service_total=?, added=?, changed=?,
            unlisted=?, malformed=? WHERE id=?`,
    [
      outcome,
      reason?.slice(0, 1000) ?? null,
      nowMs,
      counts.pages,
      counts.listed,
      counts.serviceTotal,
      swap.added,
      swap.changed,
      swap.unlisted,
      counts.malformed,
      pullId,
    ],
  );
}

export interface ListedInvoice {
  invoice_no: string;
  customer_code: string | null;
  amount: number;
  due_date: string;
  status: string;
}

/** What is listed as unpaid now: the first rows by due date, and the count and sum of all. */
export async function listInvoices(
  tx: Tx,
  limit: number,
): Promise<{ rows: ListedInvoice[]; count: number; sum: string }> {
  const rows = await tx.select<ListedInvoice>(
    `SELECT invoice_no, customer_code, amount, due_date, status FROM invoice WHERE unlisted_at IS NULL
      ORDER BY due_date, invoice_no LIMIT ${Math.trunc(limit)}`,
  );
  const [all] = await tx.select<{ n: number; total: string | null }>(
    // As text: the sum need not fit into a number.
    'SELECT COUNT(*) AS n, CAST(SUM(amount) AS CHAR) AS total FROM invoice WHERE unlisted_at IS NULL',
  );
  return { rows, count: Number(all?.n ?? 0), sum: all?.total ?? '0' };
}
