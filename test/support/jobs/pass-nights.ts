import { prune } from '../../../src/operator/prune.js';
import { lookAtClocks } from '../../../src/store/elapsed-time.js';
import { type Lab, withServiceLease } from './job-lab.js';

const dayMs = 86_400_000;
const nightMs = 20 * 3_600_000;

const times: Record<string, readonly string[]> = {
  outbox_message: ['captured_at', 'closed_at', 'first_sent_at'],
  attempt: ['intended_at', 'started_at'],
  audit_log: ['at'],
  alert: ['since_at', 'over_at', 'raised_told_at', 'over_told_at'],
  invoice_pull: ['started_at', 'ended_at'],
  webhook_event: ['received_at', 'handled_at'],
  reconciliation: ['started_at', 'progress_at', 'ended_at'],
};

/** Everything in the store happened so many days earlier, while a daemon looked at the clocks. None is set for it. */
export async function ageStore({ context }: Lab, days: number): Promise<void> {
  await context.store.transaction('age the store', async (tx) => {
    await lookAtClocks(tx, context);
    for (const [table, columns] of Object.entries(times))
      await tx.run(`UPDATE ${table} SET ${columns.map((column) => `${column}=${column}-${days * dayMs}`)}`);
  });
}

export function pruneOnce({ context }: Lab): ReturnType<typeof prune> {
  return withServiceLease(context, (lease) => prune(context, lease.lease));
}

/** Prunes night after night until one removes nothing. @returns what all of them removed */
export async function pruneAll(lab: Lab): ReturnType<typeof prune> {
  const total = await pruneOnce(lab);
  const startsMs = lab.context.nowMs() - Date.now();
  for (let night = 1, isOver = false; !isOver; night++) {
    lab.context.nowMs = () => Date.now() + startsMs + night * nightMs;
    const removed = await pruneOnce(lab);
    for (const name of Object.keys(total) as (keyof typeof total)[]) total[name] += removed[name];
    isOver = Object.values(removed).every((count) => count === 0);
  }
  return total;
}
