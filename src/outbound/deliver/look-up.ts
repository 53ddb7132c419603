import { shownReason } from '../../audit/audit-log.js';
import type { LookUpEndpoint } from '../../config/sections/service-endpoints.js';
import { backoffMs } from '../../model/backoff.js';
import { namesIn } from '../../model/placeholder.js';
import type { Entity, JsonValue, OrderItem } from '../../model/record.js';
import { orderTotal, pluralOf, settingsOfRecord } from '../../model/record.js';
import type { Failure, LookUpFinding } from '../../model/verdict.js';
import type { JobContext } from '../../ops/job-context.js';
import type { Passage } from '../../service/compose-request.js';
import { existingCustomerEndpoint } from '../../service/look-up.js';
import type { ServiceClient } from '../../service/service-client.js';
import { readClock } from '../../store/clock.js';
import type { Tx } from '../../store/store.js';
import { type AdoptOutcome, adoptCustomer } from '../adoption/adopt-found.js';
import { BindingHolders, unprovenTwin } from '../outbox/binding-holders.js';
import { keyLifetimeMs } from '../outbox/idempotency-key.js';
import { fromBeforeRecovery } from '../recovery/recover-messages.js';
import { callTooEarly, type EndedAttempt, endAttempts } from './attempts.js';
import { claimLookUps, type LookUpMessage, nextConflictAt } from './claim-look-ups.js';
import { deliveredSince } from './clock-trace.js';
import type { DeliveryTally, LookUpResult } from './delivery-tally.js';
import type { ClaimScope } from './due-messages.js';
import type { Exchange } from './exchange.js';
import { afterOutageMs } from './lane-keeper.js';
import type { Ended, Settled, Settler } from './outcome-batches.js';
import type { SendGate } from './send-gate.js';
import type { ServiceLease } from './service-lease.js';
import {
  type DecidedMessage,
  decideLookUp,
  type LookUpDecision,
  mostAbsences,
  postponeLookUp,
  settleLookUp,
  unlessAnothers,
} from './settle-look-ups.js';

/** Entities whose records the service can be asked for. */
export function lookUpEntities({ settings }: JobContext): Entity[] {
  const { lookUpCustomer, lookUpOrder } = settings.service.endpoints;
  return [...(lookUpCustomer ? (['customer'] as const) : []), ...(lookUpOrder ? (['order'] as const) : [])];
}

/** The request that asks the service for this record; null: it can't be asked. */
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

/** The time for which a customer waits for another one with its code that is on its way. */
const rivalWaitMs = 1_000;

interface LookUpParts {
  client: ServiceClient;
  exchange: Exchange;
  gate: SendGate;
  tally: DeliveryTally;
}

type EndedLookUp = Ended<LookUpMessage, LookUpFinding>;

/** Looks for creates at the service that must not be resent blindly, where it can be asked. */
export class LookUps implements Settler<LookUpMessage, LookUpFinding> {
  constructor(
    private readonly context: JobContext,
    private readonly lease: ServiceLease,
    private readonly parts: LookUpParts,
    private readonly only: ClaimScope['only'],
  ) {}

  /** Begins look-ups that are due, each with its attempt on record first. @returns how many */
  async begin(most: number, isProbe = false): Promise<number> {
    const { exchange, gate } = this.parts;
    const messages = await this.#claim(most);
    for (const message of messages) {
      const passage = { gate: gate.of('deliver', isProbe), isProbe };
      exchange.begin(this, message, () => this.#ask(message, passage), { isProbe });
    }
    return messages.length;
  }

  async #claim(limit: number): Promise<LookUpMessage[]> {
    const entities = { in_doubt: lookUpEntities(this.context), conflict: conflictEntities(this.context) };
    if (entities.in_doubt.length + entities.conflict.length === 0 || limit < 1) return [];
    const lifetimeMs = keyLifetimeMs(this.context.settings.service);
    return this.lease.write('take what is to be looked up', async (tx) => {
      const now = readClock(this.context);
      const terms = { entities, only: this.only, sentBeforeMs: now.wallMs - lifetimeMs, limit };
      return claimLookUps(tx, terms, this.lease.epoch, now);
    });
  }

  async #ask(message: LookUpMessage, passage: Passage) {
    const endpoint = endpointFor(this.context, message);
    if (!endpoint) throw new Error(`There is no look-up for ${message.entity}.`);
    const sent = await this.parts.client.lookUp(endpoint, message, passage);
    return { ...sent, verdict: conclusive(message, sent.verdict, sent.startedAtMs !== null) };
  }

  purposeOf(): string {
    return 'look_up';
  }

  async settle(tx: Tx, ended: readonly EndedLookUp[], at: number): Promise<Settled> {
    const results: { message: LookUpMessage; result: LookUpResult }[] = [];
    for (const one of ended) results.push({ message: one.about, result: await this.#settleOne(tx, one, at) });
    return {
      heard: ended.map(({ about, sent: { verdict, startedAtMs } }) => ({
        asks: 'look_up',
        verdict,
        shownReason: 'reason' in verdict ? shownReason(about.entity, verdict.reason) : null,
        parkedAs: null,
        sentAtMs: startedAtMs,
      })),
      committed: () => {
        for (const { message, result } of results) this.parts.tally.countLookUp(message, result);
      },
    };
  }

  async #settleOne(tx: Tx, { about: message, sent, isProbe }: EndedLookUp, at: number): Promise<LookUpResult> {
    const { settings, random, actor } = this.context;
    const { verdict } = sent;
    const endpoint = endpointFor(this.context, message);
    // The key of a create is that of no other record, nor of one that was removed.
    const isFoundByKey = namesMatched(endpoint).includes('idempotency_key');
    const known = async () => ({
      ...message,
      isFoundByKey,
      isAskedByKey: isFoundByKey || namesAsked(endpoint).includes('idempotency_key'),
      isFromBeforeLoss: (await fromBeforeRecovery(tx))(message.id),
      othersPass: await othersPass(tx, message),
    });
    const finding = isFinding(verdict) ? this.#decide(await known(), verdict) : null;
    const isFound = !isFoundByKey;
    const claims = finding?.to === 'delivered' ? [{ ...message, serviceId: finding.serviceId, isFound }] : [];
    const holders = await BindingHolders.of(tx, claims);
    const askedBy = claims.length > 0 ? fieldsAskedBy(endpoint, message) : {};
    const twin = claims.length > 0 ? await unprovenTwin(tx, message.entity, message.id, askedBy) : null;
    const decision = finding && unlessAnothers(finding, { ...message, isFound }, holders, twin);
    const { backoffBaseSeconds, backoffMaxSeconds } = settings.delivery;
    const maxMs = backoffMaxSeconds * 1000;
    const backoff = { baseMs: backoffBaseSeconds * 1000, maxMs: isProbe ? Math.min(maxMs, afterOutageMs) : maxMs };
    const failed = sent.startedAtMs !== null && verdict.kind !== 'throttled';
    const outcome = {
      // Adopting comes right after it; until then it is what it was.
      decision: decision?.to === 'adopted' ? null : decision,
      holders,
      nextAttemptAt: failed ? at + Math.max(1_000, backoffMs(message.failures + 1, backoff, random())) : at,
      reason: isFinding(verdict) ? null : verdict.reason,
      wasSent: sent.startedAtMs !== null,
    };
    const now = { ...readClock(this.context), wallMs: at };
    if (!(await settleLookUp(tx, message, outcome, this.lease.epoch, now))) return null;
    const { attemptId, attemptNumber: number, idempotencyKey } = message;
    const detail = { purpose: 'look_up', number, idempotencyKey };
    const said = decision?.to === 'parked' ? { kind: verdict.kind, reason: decision.reason } : verdict;
    const shown = { ...sent, verdict: said };
    await endAttempts(
      tx,
      [{ attempt: attemptId, sent: shown, message, detail, becameOf: linesOf(decision) }],
      actor,
      at,
    );
    if (decision?.to === 'later') {
      if (!decision.counts) await callTooEarly(tx, attemptId);
      return null;
    }
    if (decision?.to === 'again') return 'pending';
    if (decision?.to !== 'adopted') return decision?.to ?? null;
    const adoption = await adoptCustomer(tx, this.context, message, { found: decision.found, from: 'look_up' }, at);
    if (adoption.kind === 'later') {
      await callTooEarly(tx, attemptId);
      await postponeLookUp(tx, message.id, at + rivalWaitMs);
    }
    return resultOf(adoption);
  }

  #decide(
    message: LookUpMessage & Pick<DecidedMessage, 'isFoundByKey' | 'isAskedByKey' | 'isFromBeforeLoss' | 'othersPass'>,
    finding: LookUpFinding,
  ): LookUpDecision {
    const { items } = JSON.parse(message.record ?? '{}') as { items?: OrderItem[] };
    const { checkTotal, maxProcessingSeconds, acknowledgement } = this.context.settings.service;
    const { onCancelled, onDeleted } = settingsOfRecord(this.context.settings, message.sourceKey)[
      pluralOf(message.entity)
    ];
    const expectedTotal = items ? orderTotal(items) : null;
    return decideLookUp({ ...message, expectedTotal }, finding, {
      absenceProves: endpointFor(this.context, message)?.absenceProves ?? false,
      checkTotal,
      maxProcessingMs: maxProcessingSeconds * 1000,
      removalMarks: [onCancelled, onDeleted].flatMap((effect) => (typeof effect === 'object' ? [effect.patch] : [])),
      ...(message.entity === 'order' && {
        createdAtField: acknowledgement.orderCreatedAt.split('.').at(-1) as string,
      }),
    });
  }
}

/** True if the service accepted another new record of this kind since it was first sent this one. Asked only where it matters. */
async function othersPass(tx: Tx, { absences, wasSent, firstSentAt, entity }: LookUpMessage): Promise<boolean> {
  if (absences < mostAbsences || !wasSent) return false;
  const [delivered, parameters] = await deliveredSince(tx, firstSentAt ?? 0);
  const sql = `SELECT 1 ${delivered} AND m.entity=? AND m.operation='create' LIMIT 1`;
  return (await tx.value(sql, [...parameters, entity])) !== undefined;
}

/** Names of the fields that an entry has to agree in to be ours. */
function namesMatched(endpoint: LookUpEndpoint | null): string[] {
  return Object.values(endpoint?.match ?? {}).flatMap(namesIn);
}

/** Names of the fields in the address of a look-up. */
function namesAsked(endpoint: LookUpEndpoint | null): string[] {
  return endpoint === null ? [] : [endpoint.path, ...Object.values(endpoint.query)].flatMap(namesIn);
}

/** The fields that tell the record from others at the service: its idempotency key by itself, or these together. */
function fieldsAskedBy(endpoint: LookUpEndpoint | null, { record }: LookUpMessage): Record<string, JsonValue> {
  const names = namesMatched(endpoint);
  const fields = JSON.parse(record ?? '{}') as { [name: string]: JsonValue };
  if (names.includes('idempotency_key')) return {};
  return Object.fromEntries(
    names.flatMap((name) => (Object.hasOwn(fields, name) ? [[name, fields[name] ?? null]] : [])),
  );
}

function isFinding(verdict: LookUpFinding | Failure): verdict is LookUpFinding {
  return verdict.kind === 'found' || verdict.kind === 'none' || verdict.kind === 'several' || verdict.kind === 'odd';
}

/**
 * A service that does not let us read customers says nothing of the one that is there: asking again would bring the same
 * answer.
 */
function conclusive(
  { cause, entity }: LookUpMessage,
  verdict: LookUpFinding | Failure,
  wasSent: boolean,
): LookUpFinding | Failure {
  if (cause !== 'conflict' || entity !== 'customer' || !wasSent) return verdict;
  const { kind } = verdict;
  const isFinal = kind === 'refused' || kind === 'misconfigured' || kind === 'conflict' || kind === 'invalid';
  return isFinal ? { kind: 'odd', reason: { code: 'customer_not_shown', reason: verdict.reason } } : verdict;
}

function linesOf(decision: LookUpDecision | null): NonNullable<EndedAttempt['becameOf']> {
  if (decision?.to === 'delivered') {
    const { serviceId, flag } = decision;
    return [{ event: 'delivered', outcome: 'delivered', detail: { serviceId, flag } }];
  }
  if (decision?.to !== 'parked') return [];
  return [{ event: 'parked', outcome: decision.parkClass, detail: { reason: decision.reason } }];
}

function resultOf(adoption: AdoptOutcome): LookUpResult {
  if (adoption.kind === 'adopted') return adoption.held.length > 0 ? 'held' : 'adopted';
  return ({ known: 'adopted', refused: 'parked', taken: 'parked', later: null } as const)[adoption.kind];
}
