import { setTimeout as sleep } from 'node:timers/promises';
import type { Stage } from './stage.js';
import { patienceMs, until } from './until.js';

const yearsMs = 5 * 365 * 86_400_000;

/**
 * The rows of the store came years ago, all at once, and the daemon prunes them by the clock; a part is open, parked,
 * or all that is known of a record.
 */
export async function pruneStore(stage: Stage): Promise<void> {
  const { store, coverage } = stage;
  const count = async (table: string) =>
    Number((await store.rows<{ n: number }>(`SELECT COUNT(*) AS n FROM ${table}`))[0]?.n);
  const delivered = "SELECT COUNT(*) AS n FROM outbox_message WHERE state='delivered'";
  await until(patienceMs, async () => Number((await store.rows<{ n: number }>(delivered))[0]?.n) > 20, 50);
  for (const statement of [
    `UPDATE outbox_message SET captured_at=captured_at-${yearsMs}, closed_at=closed_at-${yearsMs}`,
    `UPDATE audit_log SET at=at-${yearsMs} WHERE event NOT IN ('operator','resume')`,
  ])
    await insist(() => store.change(statement));
  if (await until(patienceMs, async () => (await count('torture_pruned_outbox_message')) > 0, 50))
    coverage.count('fault:store-pruned');
}

/** Again where somebody else had the lock. */
async function insist(work: () => Promise<void>): Promise<void> {
  for (let tries = 1; ; tries++)
    try {
      return await work();
    } catch (error) {
      if (tries === 100) throw error;
      await sleep(100);
    }
}
