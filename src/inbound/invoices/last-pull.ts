import type { Tx } from '../../store/store.js';

export interface LastPull {
  id: number;
  outcome: string;
  /** Whether its list was proven to be the service's list of one moment. */
  isProven: boolean;
  reason: string | null;
  startedAt: number;
  endedAt: number | null;
  pages: number;
  /** How often the list was read. */
  passes: number;
  /** Invoices that it listed. */
  listed: number;
  malformed: number;
  /** Listed still, although it did not meet them: nothing proves that they have left. */
  missed: number;
}

/** The newest pull, whatever became of it; null before the first. */
export async function lastPull(tx: Tx): Promise<LastPull | null> {
  const [row] = await tx.select(
    `SELECT id, outcome, reason, started_at, ended_at, pages, passes, listed, malformed, missed
       FROM invoice_pull ORDER BY id DESC LIMIT 1`,
  );
  return row
    ? {
        id: Number(row.id),
        outcome: row.outcome,
        isProven: row.outcome === 'proven',
        reason: row.reason,
        startedAt: Number(row.started_at),
        endedAt: row.ended_at === null ? null : Number(row.ended_at),
        pages: row.pages,
        passes: row.passes,
        listed: row.listed,
        malformed: row.malformed,
        missed: row.missed,
      }
    : null;
}

/** Whether any pull has brought a list. */
export async function hasPulled(tx: Tx): Promise<boolean> {
  return (await tx.select("SELECT id FROM invoice_pull WHERE outcome IN ('proven','unproven') LIMIT 1")).length > 0;
}

/** Since when pulls come to their end without a proof: the end of the last proven one, or the first of all; null: the last of them was proven. */
export async function unprovenSince(tx: Tx): Promise<number | null> {
  const [last] = await tx.select<{ id: number; ended_at: number }>(
    "SELECT id, ended_at FROM invoice_pull WHERE outcome='proven' ORDER BY id DESC LIMIT 1",
  );
  const [first] = await tx.select<{ started_at: number | null }>(
    "SELECT MIN(started_at) AS started_at FROM invoice_pull WHERE outcome='unproven' AND id>?",
    [last?.id ?? 0],
  );
  const since = first?.started_at ?? null;
  return since === null ? null : Number(last?.ended_at ?? since);
}
