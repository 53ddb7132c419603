import type { Elapsed } from '../store/elapsed-time.js';
import type { Tx } from '../store/store.js';
import { readStoreInfo, writeStoreInfo } from '../store/store-info.js';

/** Tables from which age alone removes rows. */
type PrunedTable =
  | 'outbox_message'
  | 'message_body'
  | 'attempt'
  | 'audit_log'
  | 'invoice_pull'
  | 'webhook_event'
  | 'reconcile_finding'
  | 'reconciliation'
  | 'alert'
  | 'figure';

/** Rows that one night may remove from a table, and the part of them that is spent. */
interface Quota {
  /** When the night began, in the store's own time. */
  sinceMs: number;
  /** Rows in the table then. */
  rows: number;
  removed: number;
}

/** Shorter than from one nightly prune to the next. */
const nightMs = 20 * 3_600_000;
const share = 0.05;

/**
 * Rows that this night may still remove. Pure. A twentieth of the table; if rows are kept for less than forty days, twice the
 * share that becomes due in a day, or the table would grow for ever.
 */
function leftOf({ rows, removed }: Quota, days: number): number {
  return Math.max(0, Math.ceil(rows * Math.max(share, 2 / days)) - removed);
}

/** A new night begins by the store's own time alone. Pure. */
function isOver(quota: Quota, elapsed: Elapsed): boolean {
  return elapsed - quota.sinceMs >= nightMs;
}

/** Rows that this night may still remove from a table. @param days for how long its rows are kept */
export async function quotaLeft(tx: Tx, table: PrunedTable, days: number, elapsed: Elapsed): Promise<number> {
  let quota = await readQuota(tx, table);
  if (quota === null || isOver(quota, elapsed)) {
    const rows = Number(await tx.value<number>(`SELECT COUNT(*) AS n FROM ${table}`));
    quota = { sinceMs: elapsed, rows, removed: 0 };
    await writeQuota(tx, table, quota);
  }
  return leftOf(quota, days);
}

/** Puts on record what was removed, in the transaction that asked for `quotaLeft`. */
export async function spendQuota(tx: Tx, table: PrunedTable, count: number): Promise<void> {
  const quota = count > 0 ? await readQuota(tx, table) : null;
  if (quota) await writeQuota(tx, table, { ...quota, removed: quota.removed + count });
}

async function readQuota(tx: Tx, table: PrunedTable): Promise<Quota | null> {
  const text = await readStoreInfo(tx, `pruned/${table}`);
  return text === null ? null : (JSON.parse(text) as Quota);
}

async function writeQuota(tx: Tx, table: PrunedTable, quota: Quota): Promise<void> {
  await writeStoreInfo(tx, `pruned/${table}`, JSON.stringify(quota));
}
