import { appendAudit } from '../audit/audit-log.js';
import type { SendRequest, ServiceClient } from '../delivery/service-client.js';
import type { Entity } from '../model/entity.js';
import type { OrderItem } from '../model/record.js';
import { backoffMs } from '../outbox/backoff.js';
import { decideLookUp } from '../outbox/decide-look-up.js';
import { claimLookUps, type LookUpMessage, type LookUpOutcome, settleLookUp } from '../outbox/look-up-messages.js';
import { pauseLane } from '../store/lane-pauses.js';
import { assertEpoch } from '../store/lease.js';
import type { JobContext } from './job-context.js';
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
  message: LookUpMessage,
  gate: SendRequest['gate'],
): Promise<'delivered' | 'pending' | 'parked' | null> {
  const { settings, store, nowMs, random, actor } = context;
  const endpoint = settings.service.endpoints[message.entity === 'order' ? 'lookUpOrder' : 'lookUpCustomer'];
  if (!endpoint) throw new Error(`There is no look-up for ${message.entity}.`);
  const looked = await client.lookUp(endpoint, message, gate);
  const { items } = JSON.parse(message.record) as { items?: OrderItem[] };
  const expectedTotal = items?.reduce((sum, item) => sum + BigInt(item.qty) * BigInt(item.price), 0n) ?? null;
  const decision =
    looked.finding &&
    decideLookUp({ cause: message.cause, expectedTotal }, looked.finding, {
      absenceProves: endpoint.absenceProves,
      checkTotal: settings.service.checkTotal,
    });
  const { delivery } = settings;
  return store.transaction('put a look-up on record', async (tx) => {
    await assertEpoch(tx, lease.lease);
    const at = nowMs();
    const backoff = { baseMs: delivery.backoffBaseSeconds * 1000, maxMs: delivery.backoffMaxSeconds * 1000 };
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
    if (attemptId === null) return null;
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
    if (!looked.finding) {
      const pause = pauseFor(looked.verdict, at);
      const reason = shownReason(message.entity, looked.verdict.reason);
      if (pause) await pauseLane(tx, { ...pause, reason, actor, since_at: at });
    }
    return decision?.to ?? null;
  });
}

function pauseFor(verdict: { kind: string; retryAfterMs?: number | null }, nowMs: number) {
  switch (verdict.kind) {
    case 'throttled':
      return {
        lane: 'service' as const,
        cause: 'throttled' as const,
        until_at: nowMs + (verdict.retryAfterMs ?? 1_000),
      };
    case 'unauthorised':
      return { lane: 'service' as const, cause: 'credential' as const, until_at: null };
    case 'misconfigured':
      return { lane: 'deliver' as const, cause: 'misconfigured' as const, until_at: null };
    default:
      return null;
  }
}
