import { appendAudit } from '../../audit/audit-log.js';
import type { JobContext } from '../../ops/job-context.js';
import { isOwnLimit, longestRestMs, longestSlotWaitMs } from '../../service/rate-limit/rate-limiter.js';
import type { ServiceClient } from '../../service/service-client.js';
import { listPauses, pauseLane, resumeLane } from '../../store/lane-pauses.js';
import type { Tx } from '../../store/store.js';
import type { ServiceLease } from './service-lease.js';

const pageSize = 2_000;

interface AttemptTimes {
  id: number | string;
  intended_at: number | string;
  started_at: number | string | null;
  duration_ms: number | string | null;
  verdict: string | null;
}

/**
 * By when the requests were answered that a limit with a long window still counts, whichever process sent them and for whatever
 * purpose. Intents, because an attempt without an outcome may have been sent; read backwards along the primary key, since
 * intents ascend with it.
 * @param waitMs how long after its intent a request leaves at the latest
 * @param deadlineMs how long after that it is answered at the latest
 * @returns milliseconds since 1970, ascending; none before `sinceMs`
 */
export async function answeredSince(tx: Tx, sinceMs: number, waitMs: number, deadlineMs: number): Promise<number[]> {
  const times: number[] = [];
  for (let beforeId = Number.MAX_SAFE_INTEGER; ; ) {
    const rows = await tx.select<AttemptTimes>(
      `SELECT id, intended_at, started_at, duration_ms, verdict FROM attempt WHERE id<? ORDER BY id DESC LIMIT ${pageSize}`,
      [beforeId],
    );
    for (const row of rows) {
      if (row.verdict === 'not_sent') continue;
      const sentBy = row.started_at === null ? Number(row.intended_at) + waitMs : Number(row.started_at);
      const answeredBy = sentBy + (row.duration_ms === null ? deadlineMs : Number(row.duration_ms));
      if (answeredBy > sinceMs) times.push(answeredBy);
    }
    const last = rows.at(-1);
    if (rows.length < pageSize || last === undefined || Number(last.intended_at) <= sinceMs - waitMs - deadlineMs)
      return times.sort((a, b) => a - b);
    beforeId = Number(last.id);
  }
}

/** A claim holds what leaves within a few seconds, and then it waits for its slot: no request leaves later than this after its intent. */
const longestLeaveMs = 3_000 + longestSlotWaitMs;

/**
 * What would wait for a slot longer than a request does is a pause of the lane: visible, durable, and no message is claimed for it.
 * @returns until when it is paused now, or null
 */
export async function pauseWhenUsedUp(
  context: JobContext,
  client: Pick<ServiceClient, 'usedUp'>,
): Promise<number | null> {
  const { usedUp } = client;
  if (usedUp === null) return null;
  const at = context.nowMs();
  const untilMs = at + Math.ceil(usedUp.waitMs);
  await context.store.transaction('pause until the limit allows more', (tx) =>
    pauseLane(tx, {
      lane: 'service',
      cause: 'limit',
      until_at: untilMs,
      reason: usedUp.reason,
      actor: context.actor,
      since_at: at,
    }),
  );
  return untilMs;
}

/**
 * A limit of a day outlives a process: what was sent under an earlier lease counts for it as well. A pause that an earlier
 * process took from its settings ends: these may be others, and what is used up by them is paused anew.
 */
export async function recallRequests(
  context: JobContext,
  client: Pick<ServiceClient, 'recall' | 'usedUp'>,
  lease: Pick<ServiceLease, 'lease'>,
): Promise<void> {
  const { limits, deadlineSeconds } = context.settings.service;
  const longestMs = Math.max(0, ...limits.map(({ perSeconds }) => perSeconds * 1000));
  if (longestMs > longestRestMs) {
    const now = context.nowMs();
    const times = await context.store.read('count what the limits still count', (tx) =>
      answeredSince(tx, now - longestMs, longestLeaveMs, deadlineSeconds * 1000),
    );
    // A slot rests from the answer on.
    client.recall(
      times.map((at) => now - at),
      longestRestMs,
    );
  }
  await endOldPause(context, client, lease);
}

async function endOldPause(
  context: JobContext,
  client: Pick<ServiceClient, 'usedUp'>,
  { lease }: Pick<ServiceLease, 'lease'>,
): Promise<void> {
  const { store, nowMs, actor } = context;
  const pauses = await store.read('look for a limit that was used up', listPauses);
  if (!pauses.some(({ lane, cause, reason }) => lane === 'service' && cause === 'limit' && isOwnLimit(reason))) return;
  if ((await pauseWhenUsedUp(context, client)) !== null) return;
  await lease.write('end the pause of an earlier limit', async (tx) => {
    await resumeLane(tx, 'service', ['limit']);
    const detail = { lane: 'service', reason: 'the limits of the settings allow more' };
    await appendAudit(tx, [{ event: 'resume', outcome: 'limit', actor, detail }], nowMs());
  });
}
