import type { Tx } from '../store/store.js';

export interface LastPull {
  id: number;
  outcome: string;
  reason: string | null;
  startedAt: number;
  endedAt: number | null;
  pages: number;
  /** Invoices that it listed. */
  listed: number;
}

/** The newest pull, whatever became of it; null before the first. */
export async function lastPull(tx: Tx): Promise<LastPull | null> {
  const [row] = await tx.select(
    'SELECT id, outcome, reason, started_at, ended_at, pages, listed FROM invoice_pull ORDER BY id DESC LIMIT 1',
  );
  return row
    ? {
        id: Number(row.id),
        outcome: row.outcome,
        reason: row.reason,
        startedAt: Number(row.started_at),
        endedAt: row.ended_at === null ? null : Number(row.ended_at),
        pages: row.pages,
        listed: row.listed,
      }
    : null;
}

/** How many invoices are listed as unpaid now. */
export async function countListedInvoices(tx: Tx): Promise<number> {
  const [row] = await tx.select<{ n: number }>('SELECT COUNT(*) AS n FROM invoice WHERE unlisted_at IS NULL');
  return Number(row?.n ?? 0);
}
