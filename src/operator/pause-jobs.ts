import { appendAudit } from '../audit/audit-log.js';
import type { JobContext } from '../ops/job-context.js';
import { type Lane, pauseLane, resumeLane } from '../store/lane-pauses.js';

/** The jobs that an operator can pause, each by itself. */
export const pausableJobs = ['capture', 'deliver', 'pull'] as const satisfies readonly Lane[];

/** Pauses these jobs before their next request, until an operator resumes them. */
export async function pauseJobs(
  { store, actor, nowMs }: JobContext,
  jobs: readonly Lane[],
  reason: string,
): Promise<void> {
  await store.transaction('pause', async (tx) => {
    const at = nowMs();
    for (const lane of jobs)
      await pauseLane(tx, { lane, cause: 'operator', until_at: null, reason, actor, since_at: at });
    await appendAudit(tx, { event: 'pause', outcome: 'operator', actor, detail: { lanes: [...jobs], reason } }, at);
  });
}

/** Ends all pauses of these lanes, whatever their cause. @returns how many there were */
export async function resumeLanes(
  { store, actor, nowMs }: JobContext,
  lanes: readonly Lane[],
  reason: string,
): Promise<number> {
  return store.transaction('resume', async (tx) => {
    let ended = 0;
    for (const lane of lanes) ended += await resumeLane(tx, lane);
    const detail = { lanes: [...lanes], reason, ended };
    await appendAudit(tx, { event: 'resume', outcome: 'operator', actor, detail }, nowMs());
    return ended;
  });
}
