import { appendAudit } from '../../audit/audit-log.js';
import { outside } from '../../model/outside.js';
import type { JobContext } from '../../ops/job-context.js';
import { oldAnswerMs } from '../../outbound/deliver/gate-state.js';
import { type Lane, listPauses, pauseLane, resumeLane } from '../../store/lane-pauses.js';
import { action } from './action.js';

/** The jobs that an operator can pause, each by itself. */
export const pausableJobs = ['capture', 'deliver', 'pull'] as const satisfies readonly Lane[];

/**
 * Pauses these jobs until an operator resumes them. When it returns, only what has passed the gate may still leave, unless the
 * store takes longer than `oldAnswerMs` to answer: see `SendGate`.
 */
export async function pauseJobs(
  { store, actor, nowMs, clock }: JobContext,
  jobs: readonly Lane[],
  reason: string,
): Promise<void> {
  await store.transaction('pause', async (tx) => {
    const at = nowMs();
    for (const lane of jobs)
      await pauseLane(tx, {
        lane,
        cause: 'operator',
        until_at: null,
        reason: { code: 'person_said', text: outside(reason) },
        actor,
        since_at: at,
      });
    await appendAudit(tx, { event: 'pause', outcome: 'operator', actor, detail: { lanes: [...jobs], reason } }, at);
  });
  // The gate of another process trusts its last answer for this long. A timer may end a millisecond early.
  await clock.sleep(oldAnswerMs + 5);
}

/** The number of pauses that were ended, and the lanes that they stopped. */
export interface Resumed {
  count: number;
  ended: Lane[];
}

/** Ends all pauses of these lanes, whatever their cause. @returns how many there were, and the lanes that they stopped */
export async function resumeLanes(
  { store, actor, nowMs }: JobContext,
  lanes: readonly Lane[],
  reason: string,
): Promise<Resumed> {
  return store.transaction('resume', async (tx) => {
    const before = await listPauses(tx);
    let count = 0;
    for (const lane of lanes) count += await resumeLane(tx, lane);
    const left = new Set((await listPauses(tx)).map(({ lane }) => lane));
    const ended = [...new Set(before.map(({ lane }) => lane))].filter((lane) => !left.has(lane));
    const detail = { lanes: [...lanes], reason, ended: count };
    await appendAudit(tx, { event: 'resume', outcome: 'operator', actor, detail }, nowMs());
    return { count, ended };
  });
}

/** Nothing has to be found out first: the preview repeats what is asked for. */
const lanesShown = (lanes: readonly Lane[]) => ({
  ...{ matched: lanes.length, count: lanes.length, isAll: true, rows: [], skipped: [], data: { lanes: [...lanes] } },
});

export const pause = action({
  role: 'act',
  subject: 'jobs',
  inputs: {},
  isHarmless: true,
  preview: async (_context, lanes) => ({
    ...lanesShown(lanes),
    act: async (context, { reason }) => {
      await pauseJobs(context, lanes, reason);
      return { done: lanes.length, left: [] };
    },
  }),
});

export const resume = action({
  role: 'act',
  subject: 'jobs',
  inputs: {},
  isHarmless: true,
  preview: async (_context, lanes) => ({
    ...lanesShown(lanes),
    act: async (context, { reason }) => {
      const data = await resumeLanes(context, lanes, reason);
      return { done: data.count, left: [], data };
    },
  }),
});
