import { appendAudit } from '../audit/audit-log.js';
import type { LookedUp, SendRequest, ServiceClient } from '../delivery/service-client.js';
import type { Entity } from '../model/entity.js';
import type { OrderItem } from '../model/record.js';
import type { Verdict } from '../model/verdict.js';
import { backoffMs } from '../outbox/backoff.js';
import { decideLookUp } from '../outbox/decide-look-up.js';
import { claimLookUps, type LookUpMessage, type LookUpOutcome, settleLookUp } from '../outbox/look-up-messages.js';
import { assertEpoch } from '../store/lease.js';
import type { JobContext } from './job-context.js';
import { afterOutageMs, type LaneKeeper } from './lane-keeper.js';
import type { ServiceLease } from './service-lease.js';
import { shownReason } from './shown-reason.js';

/** Entities whose records the service can be asked for. */
export function lookUpEntities({ settings }: JobContext): Entity[] {
  const { lookUpCustomer, lookUpOrder } = settings.service.endpoints;
  return [...(lookUpCustomer ? (['customer'] as const) : []), ...(lookUpOrder ? (['order'] as const) : [])];
}

/** Messages to look up now, each with its attempt on record. */
export async function takeLookUps(
  context: JobContext,
  lease: ServiceLease,
  limit: number,
  only: ReadonlyMap<Entity, ReadonlySet<string>> | null,
): Promise<LookUpMessage[]> {
  const entities = lookUpEntities(context);
  if (entities.length === 0 || limit < 1) return [];
  const lifetimeMs = context.settings.service.idempotency.lifetimeHours * 3_600_000;
  return context.store.transaction('take what is to be looked up', async (tx) => {
    await assertEpoch(tx, lease.lease);
    const at = context.nowMs();
    return claimLookUps(tx, entities, lease.lease.epoch, at, at - lifetimeMs, limit, only);
  });
}

/** Asks the service for one record and puts on record what follows. @returns the state that it came to, or null */
export async function lookUp(
  context: JobContext,
  client: ServiceClient,
  lease: ServiceLease,
  lane: LaneKeeper,
  message: LookUpMessage,
  asking: { gate: SendRequest['gate']; isProbe: boolean },
): Promise<'delivered' | 'pending' | 'parked' | null> {
  const { settings, store, nowMs, random, actor } = context;
  const endpoint = settings.service.endpoints[message.entity === 'order' ? 'lookUpOrder' : 'lookUpCustomer'];
  if (!endpoint) throw new Error(`There is no look-up for ${message.entity}.`);
  const looked = await client.lookUp(endpoint, message, asking);
  const { items } = JSON.parse(message.record) as { items?: OrderItem[] };
  const expectedTotal = items?.reduce((sum, item) => sum + BigInt(item.qty) * BigInt(item.price), 0n) ?? null;
  const decision =
    looked.finding &&
    decideLookUp({ cause: message.cause, expectedTotal }, looked.finding, {
      absenceProves: endpoint.absenceProves,
      checkTotal: settings.service.checkTotal,
    });
  const { delivery } = settings;
  const recorded = await store.transaction('put a look-up on record', async (tx) => {
    await assertEpoch(tx, lease.lease);
    const at = nowMs();
    const maxMs = delivery.backoffMaxSeconds * 1000;
    const backoff = {
      baseMs: delivery.backoffBaseSeconds * 1000,
      maxMs: asking.isProbe ? Math.min(maxMs, afterOutageMs) : maxMs,
    };
    const failed = looked.startedAtMs !== null && looked.verdict.kind !== 'throttled';
    const outcome: LookUpOutcome = {
      decision,
      nextAttemptAt: failed ? at + Math.max(1_000, backoffMs(message.failures + 1, backoff, random())) : at,
      verdict: looked.finding?.kind ?? looked.verdict.kind,
      reason: decision?.to === 'parked' ? decision.reason : looked.finding ? null : looked.verdict.reason,
      startedAt: looked.startedAtMs,
      durationMs: looked.durationMs,
      status: looked.status,
      requestId: looked.requestId,
    };
    const attemptId = await settleLookUp(tx, message, outcome, lease.lease.epoch, at);
    if (attemptId === null) return { state: null, effects: null };
    const base = { entity: message.entity, sourceKey: message.sourceKey, messageId: message.id, actor };
    await appendAudit(
      tx,
      [
        {
          ...base,
          event: 'attempt',
          outcome: outcome.verdict,
          attemptId,
          detail: {
            purpose: 'look_up',
            number: message.attemptNumber,
            idempotencyKey: message.idempotencyKey,
            startedAt: outcome.startedAt,
            durationMs: outcome.durationMs,
            status: outcome.status,
            requestId: outcome.requestId,
            reason: outcome.reason,
          },
        },
        ...(decision?.to === 'delivered'
          ? [
              {
                ...base,
                event: 'delivered' as const,
                outcome: 'delivered',
                detail: { serviceId: decision.serviceId, flag: decision.flag },
              },
            ]
          : []),
        ...(decision?.to === 'parked'
          ? [{ ...base, event: 'parked' as const, outcome: decision.parkClass, detail: { reason: decision.reason } }]
          : []),
      ],
      at,
    );
    const verdict = verdictForLane(looked);
    const reason = 'reason' in verdict ? shownReason(message.entity, verdict.reason) : '';
    const effects = await lane.heed(
      tx,
      [{ verdict, parkedAs: null, shownReason: reason, sentAtMs: looked.startedAtMs }],
      at,
    );
    return { state: decision?.to ?? null, effects };
  });
  if (recorded.effects) lane.keep(recorded.effects);
  return recorded.state;
}

/** What a look-up says about the service as a whole. Whatever it finds or refuses concerns one record: only that it answered counts. */
function verdictForLane({ finding, verdict }: LookedUp): Verdict {
  const answered: Verdict = { kind: 'busy', reason: 'a look-up was answered' };
  if (finding !== null) return answered;
  switch (verdict.kind) {
    case 'in_doubt':
    case 'unavailable':
    case 'not_sent':
    case 'throttled':
    case 'unauthorised':
    case 'misconfigured':
      return verdict;
    default:
      return answered;
  }
}
