import { appendAudit } from '../audit/audit-log.js';
import { isOwnLimit, longestSlotWaitMs } from '../delivery/pacer.js';
import type { ServiceClient } from '../delivery/service-client.js';
import { answeredSince } from '../outbox/recent-requests.js';
import { listPauses, pauseLane, resumeLane } from '../store/lane-pauses.js';
import { assertEpoch } from '../store/lease.js';
import type { JobContext } from './job-context.js';
import type { ServiceLease } from './service-lease.js';

/**
 * Windows up to this length are waited out by whoever takes over: its clock may differ from its predecessor's by seconds, and
 * not by minutes. Longer ones are counted from what is on record.
 */
export const longestRestMs = 10_000;

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
  await store.transaction('end the pause of an earlier limit', async (tx) => {
    await assertEpoch(tx, lease);
    await resumeLane(tx, 'service', ['limit']);
    const detail = { lane: 'service', reason: 'the limits of the settings allow more' };
    await appendAudit(tx, [{ event: 'resume', outcome: 'limit', actor, detail }], nowMs());
  });
}
