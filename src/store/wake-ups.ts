import { upsertRows } from './rows.js';
import type { Tx } from './store.js';

/** A job that another process may ask the daemon to run now. */
export type WakeableJob = 'capture' | 'pull' | 'webhooks';

export async function requestWakeUp(tx: Tx, job: WakeableJob, actor: string, nowMs: number): Promise<void> {
  await upsertRows(tx, 'wake_up', ['job'], [{ job, requested_at: nowMs, actor }]);
}

/** Takes every request that is there: whoever takes it runs the job. */
export async function takeWakeUps(tx: Tx): Promise<{ job: WakeableJob; actor: string }[]> {
  const rows = await tx.select<{ job: WakeableJob; actor: string }>('SELECT job, actor FROM wake_up');
  if (rows.length > 0) await tx.run('DELETE FROM wake_up');
  return rows;
}
