import { appendAudit, shownReason } from '../../audit/audit-log.js';
import { type Entity, type OrderItem, orderTotal } from '../../model/record.js';
import type { LookUpFinding, Verdict } from '../../model/verdict.js';
import type { JobContext } from '../../ops/job-context.js';
import type { SendRequest } from '../../service/compose-request.js';
import { existingCustomerEndpoint } from '../../service/look-up.js';
import type { LookedUp, ServiceClient } from '../../service/service-client.js';
import { LeaseLost } from '../../store/lease.js';
import { type AdoptOutcome, adoptCustomer } from '../adoption/adopt-found.js';
import { backoffMs } from '../outbox/message.js';
import { decideLookUp } from './decide-look-up.js';
import { afterOutageMs, type LaneKeeper } from './lane-keeper.js';
import {
  claimLookUps,
  type LookUpMessage,
  type LookUpOutcome,
  lookUpAgain,
  nextConflictAt,
  settleLookUp,
} from './look-up-messages.js';
import type { ServiceLease } from './service-lease.js';

/** Entities whose records the service can be asked for. */
export function lookUpEntities({ settings }: JobContext): Entity[] {
  const { lookUpCustomer, lookUpOrder } = settings.service.endpoints;
  return [...(lookUpCustomer ? (['customer'] as const) : []), ...(lookUpOrder ? (['order'] as const) : [])];
}

/** How the service is asked for this record; null: it can't be. */
function endpointFor({ settings }: JobContext, { entity, cause }: Pick<LookUpMessage, 'entity' | 'cause'>) {
  const { service } = settings;
  if (entity === 'order') return service.endpoints.lookUpOrder ?? null;
  return cause === 'conflict' ? existingCustomerEndpoint(service) : (service.endpoints.lookUpCustomer ?? null);
}

function conflictEntities(context: JobContext): Entity[] {
  const both = ['customer', 'order'] as const;
  return both.filter((entity) => endpointFor(context, { entity, cause: 'conflict' }) !== null);
}

/** When a conflict that could not be looked up is due again; null: none is left. */
export async function nextLookUpAt(
  context: JobContext,
  only: ReadonlyMap<Entity, ReadonlySet<string>> | null,
): Promise<number | null> {
  return context.store.read('look for the next look-up', (tx) => nextConflictAt(tx, conflictEntities(context), only));
}

/** Messages to look up now, each with its attempt on record. */
export async function takeLookUps(
  context: JobContext,
  lease: ServiceLease,
  limit: number,
  only: ReadonlyMap<Entity, ReadonlySet<string>> | null,
): Promise<LookUpMessage[]> {
  const entities = { in_doubt: lookUpEntities(context), conflict: conflictEntities(context) };
  if (entities.in_doubt.length + entities.conflict.length === 0 || limit < 1) return [];
  const lifetimeMs = context.settings.service.idempotency.lifetimeHours * 3_600_000;
  return lease.lease.write('take what is to be looked up', async (tx) => {
    const at = context.nowMs();
    return claimLookUps(tx, entities, lease.lease.epoch, at, at - lifetimeMs, limit, only);
  });
}

export type LookUpResult = 'delivered' | 'pending' | 'parked' | 'adopted' | 'held';

/**
 * Asks the service for one record and puts on record what follows. @returns the state that it came to (`held`: adopted, with
 * differences that wait for a person), or null when it is to be asked again
 */
export async function lookUp(
  context: JobContext,
  client: ServiceClient,
  lease: ServiceLease,
  lane: LaneKeeper,
  message: LookUpMessage,
  asking: { gate: SendRequest['gate']; isProbe: boolean },
): Promise<LookUpResult | null> {
  const { settings, nowMs, random, actor } = context;
  const endpoint = endpointFor(context, message);
  if (!endpoint) throw new Error(`There is no look-up for ${message.entity}.`);
  const looked = await client
    .lookUp(endpoint, message, asking)
    .catch((error: Error) => unforeseen(context, message, error));
  const finding = findingOf(message, looked);
  const { items } = JSON.parse(message.record) as { items?: OrderItem[] };
  const expectedTotal = items ? orderTotal(items) : null;
  const decision =
    finding &&
    decideLookUp({ entity: message.entity, cause: message.cause, expectedTotal }, finding, {
      absenceProves: endpoint.absenceProves,
      checkTotal: settings.service.checkTotal,
    });
  const { delivery } = settings;
  const put = () =>
    lease.lease.write('put a look-up on record', async (tx) => {
      const at = nowMs();
      const maxMs = delivery.backoffMaxSeconds * 1000;
      const backoff = {
        baseMs: delivery.backoffBaseSeconds * 1000,
        maxMs: asking.isProbe ? Math.min(maxMs, afterOutageMs) : maxMs,
      };
      const failed = looked.startedAtMs !== null && looked.verdict.kind !== 'throttled';
      const outcome: LookUpOutcome = {
        // Adopting comes right after it; until then it is what it was.
        decision: decision?.to === 'adopted' ? null : decision,
        nextAttemptAt: failed ? at + Math.max(1_000, backoffMs(message.failures + 1, backoff, random())) : at,
        verdict: finding?.kind ?? looked.verdict.kind,
        reason: decision?.to === 'parked' ? decision.reason : finding ? null : looked.verdict.reason,
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
      const adoption =
        decision?.to === 'adopted' ? await adoptCustomer(tx, context, message, decision.found, 'look_up', at) : null;
      if (adoption?.kind === 'later') await lookUpAgain(tx, attemptId, message.id, at + rivalWaitMs);
      const verdict = verdictForLane({ ...looked, finding });
      const reason = 'reason' in verdict ? shownReason(message.entity, verdict.reason) : '';
      const effects = await lane.heed(
        tx,
        [{ verdict, parkedAs: null, shownReason: reason, sentAtMs: looked.startedAtMs }],
        at,
      );
      return { state: adoption ? stateAfter(adoption) : (decision?.to ?? null), effects };
    });
  const recorded = await untilOnRecord(context, lease, put);
  if (recorded.effects) lane.keep(recorded.effects);
  return recorded.state;
}

/** Whatever went wrong, the message goes back to where it was, and is looked up again after a while. */
function unforeseen({ log, nowMs }: JobContext, { entity, sourceKey }: LookUpMessage, error: Error): LookedUp {
  log.error('A look-up failed in a way that nobody foresaw', { entity, key: sourceKey, error: error.message });
  const verdict = { kind: 'in_doubt' as const, reason: error.message };
  const nothing = { durationMs: null, status: null, requestId: null, excerpt: null };
  return { finding: null, verdict, startedAtMs: nowMs(), ...nothing };
}

/** The finding is in memory only: tries to write it as long as the lease is ours. Later a successor calls the attempt in doubt. */
async function untilOnRecord<T>({ clock, log }: JobContext, lease: ServiceLease, put: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await put();
    } catch (error) {
      if (error instanceof LeaseLost || lease.lost || clock.monotonicMs() > lease.lease.endsAtMonotonicMs) throw error;
      log.error('A look-up could not be put on record; trying again', { error: (error as Error).message });
      await clock.sleep(500);
    }
  }
}

/** How long a customer waits for another one with its code that is on its way. */
const rivalWaitMs = 1_000;

/**
 * What was found. A service that does not let us read customers says nothing of the one that is there: asking again would bring
 * the same answer.
 */
function findingOf(
  { cause, entity }: LookUpMessage,
  { finding, verdict, startedAtMs }: LookedUp,
): LookUpFinding | null {
  if (finding !== null || cause !== 'conflict' || entity !== 'customer' || startedAtMs === null) return finding;
  const isFinal = verdict.kind === 'refused' || verdict.kind === 'misconfigured' || verdict.kind === 'conflict';
  return isFinal ? { kind: 'odd', reason: `the service does not show the customer (${verdict.reason})` } : null;
}

function stateAfter(adoption: AdoptOutcome): LookUpResult | null {
  switch (adoption.kind) {
    case 'adopted':
      return adoption.held.length > 0 ? 'held' : 'adopted';
    case 'known':
      return 'adopted';
    case 'refused':
      return 'parked';
    case 'later':
      return null;
  }
}

/** What a look-up says about the service as a whole. Whatever it finds or refuses concerns one record: only that it answered counts. */
function verdictForLane({ finding, verdict }: Pick<LookedUp, 'finding' | 'verdict'>): Verdict {
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
