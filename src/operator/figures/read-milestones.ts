import { lastPull } from '../../inbound/invoices/pull-record.js';
import { entities } from '../../model/record.js';
import { listJobRuns, readCursor } from '../../store/job-runs.js';
import type { Tx } from '../../store/store.js';

/** When each job last came to a good end, in milliseconds since 1970; a job that never did is left out. */
export async function readMilestones(
  tx: Tx,
): Promise<{ succeededAt: [job: string, at: number][]; isPullProven: boolean }> {
  const succeededAt: [string, number][] = [];
  for (const { job, succeededAt: at } of await listJobRuns(tx)) if (at !== null) succeededAt.push([job, at]);
  for (const entity of entities) {
    const { sweptAt } = await readCursor(tx, entity);
    if (sweptAt !== null) succeededAt.push([`sweep_${entity}`, sweptAt]);
  }
  const pull = await lastPull(tx);
  if (pull?.listedAt) succeededAt.push(['invoice_list', pull.listedAt]);
  return { succeededAt, isPullProven: pull?.isProven ?? false };
}
