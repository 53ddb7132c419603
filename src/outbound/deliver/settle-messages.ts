import { shownReason } from '../../audit/audit-log.js';
import type { Fact } from '../../model/facts/fact.js';
import type { Entity } from '../../model/record.js';
import type { Delivered } from '../../model/verdict.js';
import type { JobContext } from '../../ops/job-context.js';
import { killPoint } from '../../ops/kill-point.js';
import { type ClockReading, clockSetBetween, readClock, wallLeadMs } from '../../store/clock.js';
import { recordSuccess } from '../../store/job-runs.js';
import { padded, placeholders } from '../../store/rows.js';
import type { Tx } from '../../store/store.js';
import { adoptCustomer } from '../adoption/adopt-found.js';
import { type BindingClaim, BindingHolders, type BindingProblem } from '../outbox/binding-holders.js';
import { bindRecords, closeBindings, readSoon } from '../outbox/bindings.js';
import { doubtContents, provenRecord } from '../outbox/content-hash.js';
import { parkedSchedule, settle } from '../outbox/message.js';
import { replaceRefused } from '../outbox/promote-dependent.js';
import { noteEnds, settleSending } from '../outbox/transitions.js';
import { doubtOrderKeys, type ResentCustomers } from '../recovery/forgotten-keys.js';
import { fromBeforeRecovery } from '../recovery/recover-messages.js';
import { endAttempts } from './attempts.js';
import type { ClaimedMessage } from './claim-messages.js';
import { followClock } from './clock-trace.js';
import type { DeliveryTally } from './delivery-tally.js';
import { byTheClockNow, endedAttempt, requestOf, type SettledMessage } from './ended-attempt.js';
import { endpointKey, judgeForbidden } from './lane-effects.js';
import { afterOutageMs } from './lane-keeper.js';
import { amongOthers, asksForTries, type Tries } from './one-record.js';
import type { Ended, Settled, Settler } from './outcome-batches.js';
import { forbiddenBefore, passedSinceForbidden, triesOf } from './past-requests.js';
import { noteStates } from './profile-notices.js';

/** While deliveries succeed, it is put on record so often that they do. */
const successEveryMs = 1_000;

/** Settles what was sent, in batches: message, attempt, binding and audit. */
export class MessageSettler implements Settler<ClaimedMessage, Delivered> {
  #resent: ResentCustomers = { acknowledged: 0, existed: 0 };
  /** When it was put on record last that deliveries succeed. */
  #succeededAtMs = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly context: JobContext,
    private readonly epoch: number,
    private readonly tally: DeliveryTally,
  ) {}

  purposeOf({ operation }: ClaimedMessage): string {
    return operation;
  }

  async settle(tx: Tx, ended: readonly Ended<ClaimedMessage, Delivered>[], at: number): Promise<Settled> {
    const { actor, random, clock } = this.context;
    const { delivery, service } = this.context.settings;
    const { backoffBaseSeconds, backoffMaxSeconds } = delivery;
    const maxMs = backoffMaxSeconds * 1000;
    // The ages on record are corrected first: what is written now is of the clock as it is.
    const leadMs = wallLeadMs(this.context);
    if (ended.some(({ about }) => clockSetBetween(about.wallLeadMs, leadMs) !== 0)) await followClock(tx, this.context);
    const maxProcessingMs = service.maxProcessingSeconds * 1000;
    const tries = await readTries(tx, ended);
    const judged = (await heedForbidden(tx, ended)).map((answered): SettledMessage => {
      const past = tries.get(answered.about.id);
      const one = past === undefined ? answered : besideOthers(answered, past, { nowMs: at, maxProcessingMs });
      // Set forward, first sends look older than they are, which only makes us more careful.
      const setMs = clockSetBetween(one.about.wallLeadMs, leadMs);
      const setBackMs = Math.min(setMs, 0);
      const { firstSentAt } = one.about;
      const about = firstSentAt !== null ? { ...one.about, firstSentAt: firstSentAt + setBackMs } : one.about;
      const transition = settle(about, one.sent.verdict, {
        nowMs: at,
        random: random(),
        // The service may be back before the outcome of a probe that hangs is known.
        backoff: { baseMs: backoffBaseSeconds * 1000, maxMs: one.isProbe ? Math.min(maxMs, afterOutageMs) : maxMs },
        sentAtMs: one.sent.startedAtMs === null ? at : one.sent.startedAtMs + setBackMs,
        tries: past?.count ?? 1,
      });
      // New fields first, here and wherever something is made for each message: docs/measurements.md says why.
      return { transition, ...(setMs === 0 ? one : byTheClockNow(one, setMs)) };
    });
    const settled = await settleMessages(tx, judged, this.epoch, actor, { ...readClock(this.context), wallMs: at });
    const settledById = new Map(settled.map((one) => [one.about.id, one]));
    const all = judged.map((one) => settledById.get(one.about.id) ?? one);
    await this.#promoteDependents(tx, settled, at);
    await readSoon(
      tx,
      settled.filter(isAnsweredOddly).map(({ about }) => about.sourceKey),
    );
    const monotonicMs = clock.monotonicMs();
    const isSuccess =
      monotonicMs - this.#succeededAtMs >= successEveryMs &&
      settled.some(({ transition }) => transition.state === 'delivered');
    if (isSuccess) await recordSuccess(tx, 'deliver', at);
    await this.#noteStates(tx, settled, at);
    const adopted = await this.#adopt(tx, settled, at);
    const { existing, ...resent } = resentCustomers(settled, this.#resent);
    const how = { canLookUp: service.endpoints.lookUpOrder !== undefined, actor };
    const doubted = existing.length > 0 ? await doubtOrderKeys(tx, existing, resent, how, at) : 0;
    killPoint('before-settle-commit');
    return {
      heard: all.map(({ about, sent, transition }) => ({
        asks: 'write',
        verdict: sent.verdict,
        shownReason: 'reason' in sent.verdict ? shownReason(about.entity, sent.verdict.reason) : null,
        parkedAs: transition.parkClass,
        sentAtMs: sent.startedAtMs,
      })),
      committed: () => {
        killPoint('after-settle-commit');
        if (isSuccess) this.#succeededAtMs = monotonicMs;
        this.tally.countMessages(all);
        for (const [id, outcome] of adopted) this.tally.countAdopted(id, outcome);
        this.#resent = resent;
        this.tally.countDoubted(doubted, resent);
      },
    };
  }

  /** A customer whom the answer "already exists" shows is bound at once. @returns what became of each, by message */
  async #adopt(tx: Tx, settled: readonly SettledMessage[], at: number): Promise<Map<number, 'adopted' | 'held'>> {
    const adopted = new Map<number, 'adopted' | 'held'>();
    for (const { about, sent } of settled) {
      const existing = sent.verdict.kind === 'conflict' ? sent.verdict.existing : undefined;
      if (!existing) continue;
      const outcome = await adoptCustomer(tx, this.context, about, { found: existing, from: 'answer' }, at);
      if (outcome.kind === 'known') adopted.set(about.id, 'adopted');
      if (outcome.kind === 'adopted') adopted.set(about.id, outcome.held.length > 0 ? 'held' : 'adopted');
    }
    return adopted;
  }

  /** A correction that came in while its refused create was under way takes its place. */
  async #promoteDependents(tx: Tx, settled: readonly SettledMessage[], at: number): Promise<void> {
    for (const { about, transition } of settled)
      if (about.operation === 'create' && transition.parkClass === 'refused')
        await replaceRefused(tx, this.context, about, at);
  }

  /** States that the settings do not name go on record; each is said in the log once. */
  async #noteStates(tx: Tx, settled: readonly SettledMessage[], at: number): Promise<void> {
    const { settings, log } = this.context;
    for (const entity of ['customer', 'order'] as const) {
      const states = settled.flatMap(({ about, sent: { verdict } }) =>
        about.entity === entity && verdict.kind === 'delivered' && verdict.state ? [verdict.state] : [],
      );
      for (const state of await noteStates(tx, settings.service, entity, states, at))
        log.warn('The service gives a state that the settings do not name', { entity, state });
    }
  }
}

function besideOthers(
  one: Ended<ClaimedMessage, Delivered>,
  tries: Tries,
  terms: Parameters<typeof amongOthers>[3],
): Ended<ClaimedMessage, Delivered> {
  return { ...one, sent: { ...one.sent, verdict: amongOthers(one.sent.verdict, one.about.operation, tries, terms) } };
}

/** The history of those that the service may have put off or failed before, by message: it may mean one record alone. */
async function readTries(tx: Tx, ended: readonly Ended<ClaimedMessage, Delivered>[]): Promise<Map<number, Tries>> {
  const tries = new Map<number, Tries>();
  for (const { about, sent } of ended)
    if (asksForTries({ verdict: sent.verdict, attemptNumber: about.attemptNumber }))
      tries.set(about.id, await triesOf(tx, about, sent.verdict));
  return tries;
}

/** A 403 may be about one record alone: then it stops no others. */
async function heedForbidden(
  tx: Tx,
  ended: readonly Ended<ClaimedMessage, Delivered>[],
): Promise<Ended<ClaimedMessage, Delivered>[]> {
  const forbidden = ended.filter(({ sent }) => sent.verdict.kind === 'misconfigured' && sent.status === 403);
  if (forbidden.length === 0) return [...ended];
  const passed = new Set<string>();
  const kinds = new Map(forbidden.map(({ about }) => [endpointKey(about), about]));
  for (const [kind, { entity, operation }] of kinds)
    if (await passedSinceForbidden(tx, entity, operation)) passed.add(kind);
  const before = await forbiddenBefore(
    tx,
    forbidden.map(({ about }) => about.id),
  );
  const verdicts = judgeForbidden(
    ended.map(({ about, sent }) => ({ ...about, ...sent, wasForbidden: before.has(about.id) })),
    passed,
  );
  return ended.map((one, i) => ({ ...one, sent: { ...one.sent, verdict: verdicts[i] ?? one.sent.verdict } }));
}

/**
 * Writes a batch of outcomes: message, attempt, audit and binding. The caller's transaction has checked the epoch. A
 * message that is no longer `sending` this attempt under this epoch is left alone: another process has it, or the batch
 * was committed already and only the database's word for it was lost.
 * @returns those that were settled
 */
export async function settleMessages(
  tx: Tx,
  all: readonly SettledMessage[],
  epoch: number,
  actor: string,
  now: ClockReading,
): Promise<SettledMessage[]> {
  const sending = await stillSending(tx, all, epoch);
  if (sending.length === 0) return [];
  const holders = await BindingHolders.of(tx, sending.flatMap(claimsOf));
  const settled = await doubtOldAnswers(
    tx,
    sending.map((one) => unlessAnother(one, holders, now.wallMs)),
  );
  await settleSending(
    tx,
    settled.map((one) => ({
      id: one.about.id,
      attemptNumber: one.about.attemptNumber,
      transition: one.transition,
      request: requestOf(one),
    })),
    epoch,
    now.wallMs,
  );
  // A request that did not deliver its message may still take effect, whatever the answer said.
  const undelivered = settled.filter(
    ({ about, sent, transition }) =>
      about.operation === 'create' && transition.state !== 'delivered' && sent.startedAtMs !== null,
  );
  await noteEnds(
    tx,
    undelivered.map(({ about }) => about.id),
    now,
  );
  const ended = settled.map((one) => endedAttempt(one, epoch));
  await endAttempts(tx, ended, actor, now.wallMs);
  const delivered = settled.filter(({ transition }) => transition.state === 'delivered');
  await bindRecords(
    tx,
    delivered
      .filter(({ about }) => about.operation !== 'delete')
      .map(({ about, transition, sent: { verdict } }) => ({
        entity: about.entity,
        sourceKey: about.sourceKey,
        revision: about.revision,
        generation: about.generation,
        contentHash: about.contentHash,
        mappingFingerprint: about.mappingFingerprint,
        identity: about.identity,
        serviceId: transition.serviceId as string,
        said: null,
        renamedFrom: renamedFrom(verdict),
        acknowledged: provenRecord(about.contentHash, about.record),
        words: wordsOf(about, verdict, holders),
      })),
    holders,
    now.wallMs,
  );
  await closeBindings(
    tx,
    delivered.flatMap(({ about }) => (about.operation === 'delete' ? [about] : [])),
    now.wallMs,
  );
  return settled;
}

/** A change or a removal of an order that the service answers with a success that proves nothing: the order may be gone there. */
function isAnsweredOddly({ about, sent, transition }: SettledMessage): boolean {
  const isOfBound = about.entity === 'order' && about.operation !== 'create';
  return isOfBound && sent.verdict.kind === 'invalid' && transition.state === 'parked';
}

/** The keys of customers that a resend shows to exist already, and the counts so far. */
function resentCustomers(settled: readonly SettledMessage[], before: ResentCustomers) {
  const resent = settled.filter(
    ({ about }) => about.entity === 'customer' && about.operation === 'create' && about.claimedFrom === 'in_doubt',
  );
  const acknowledged = before.acknowledged + resent.filter(({ sent }) => sent.verdict.kind === 'delivered').length;
  const existing = resent.flatMap(({ about, sent: { verdict } }) =>
    verdict.kind === 'conflict' && verdict.what === 'already_exists' ? [about.sourceKey] : [],
  );
  return { existing, acknowledged, existed: before.existed + existing.length };
}

/**
 * The facts about an order in its acknowledgement. The answer to a create that is bound already may be a replay of the
 * first one.
 */
function wordsOf(about: ClaimedMessage, verdict: SettledMessage['sent']['verdict'], holders: BindingHolders) {
  const isRepeated = about.operation === 'create' && holders.isBound(about.entity, about.sourceKey);
  if (about.entity !== 'order' || verdict.kind !== 'delivered' || isRepeated) return null;
  return { status: verdict.state ?? null, total: verdict.total ?? null };
}

/** The binding that the acknowledgement makes, if any. */
function claimsOf({ about, transition, sent: { verdict } }: SettledMessage): BindingClaim[] {
  const { entity, sourceKey } = about;
  if (transition.state !== 'delivered' || about.operation === 'delete') return [];
  return [{ entity, sourceKey, serviceId: transition.serviceId as string, renamedFrom: renamedFrom(verdict) }];
}

function renamedFrom(verdict: SettledMessage['sent']['verdict']): string | null {
  return verdict.kind === 'delivered' ? (verdict.renamedFrom ?? null) : null;
}

/**
 * An acknowledgement that names the record of another one, or another id than this record has, acknowledges nothing: a person has
 * to look. Both ids are in the reason, and so on the audit.
 */
function unlessAnother(one: SettledMessage, holders: BindingHolders, nowMs: number): SettledMessage {
  const [claim] = claimsOf(one);
  const problem = claim ? holders.problemOf(claim) : null;
  if (!claim || problem === null) return one;
  const reason = acknowledgedAnother(one.about.entity, claim, problem);
  const parked = { state: 'parked', parkClass: 'conflict', schedule: parkedSchedule('conflict', nowMs) } as const;
  return { ...one, transition: { ...one.transition, ...parked, reason, serviceId: null, flag: null } };
}

function acknowledgedAnother(entity: Entity, { sourceKey, serviceId }: BindingClaim, problem: BindingProblem): Fact {
  switch (problem.kind) {
    case 'taken':
      return { code: 'acknowledged_as_other', entity, sourceKey: problem.heldBy, serviceId };
    case 'bound':
      return { code: 'acknowledged_twice', entity, sourceKey, serviceId, boundTo: problem.boundTo };
    case 'removed':
      return { code: 'found_removed', entity, serviceId };
  }
}

/**
 * The answer to a create that a lost store may have sent can be older than what was said since. Its fields are
 * therefore doubted.
 */
async function doubtOldAnswers(tx: Tx, settled: readonly SettledMessage[]): Promise<SettledMessage[]> {
  const isCreated = ({ about, transition }: SettledMessage) =>
    transition.state === 'delivered' && about.operation === 'create' && about.contentHash !== null;
  if (!settled.some(isCreated)) return [...settled];
  const isFromBefore = await fromBeforeRecovery(tx);
  const isDoubted = (one: SettledMessage) => isCreated(one) && isFromBefore(one.about.id);
  await doubtContents(
    tx,
    settled.filter(isDoubted).map(({ about }) => about),
  );
  return settled.map((one) => (isDoubted(one) ? { ...one, about: { ...one.about, contentHash: null } } : one));
}

/** As the store knows them by now: a recovery may have doubted their contents since they were claimed, and moved them behind a binding. */
async function stillSending(tx: Tx, settled: readonly SettledMessage[], epoch: number): Promise<SettledMessage[]> {
  if (settled.length === 0) return [];
  const listed = padded(settled.map(({ about }) => about.id));
  const rows = await tx.rows<
    Pick<ClaimedMessage, 'id' | 'contentHash' | 'revision' | 'generation'> & { attempts: number }
  >(
    `SELECT id, attempts, content_hash, revision, generation FROM outbox_message
      WHERE id IN ${placeholders(listed.length)} AND state='sending' AND claim_epoch=?${tx.forUpdate}`,
    [...listed, epoch],
  );
  const sending = new Map(rows.map((row) => [row.id, row]));
  return settled.flatMap((one) => {
    const { about } = one;
    const now = sending.get(about.id);
    if (now?.attempts !== about.attemptNumber) return [];
    const { contentHash, revision, generation } = now;
    const isSame = contentHash === about.contentHash && revision === about.revision && generation === about.generation;
    return [isSame ? one : { ...one, about: { ...about, contentHash, revision, generation } }];
  });
}
