import { isDeepStrictEqual } from 'node:util';
import type { Fact } from '../../model/facts/fact.js';
import { outside } from '../../model/outside.js';
import type { Entity, JsonValue } from '../../model/record.js';
import type { FoundRecord, LookUpFinding } from '../../model/verdict.js';
import { type ClockReading, clockToleranceMs } from '../../store/clock.js';
import type { Tx } from '../../store/store.js';
import { absenceStep, betweenLookUpsMs } from '../outbox/absence.js';
import type { BindingHolders, BindingProblem, UnprovenTwin } from '../outbox/binding-holders.js';
import { bindRecords, type NewBinding } from '../outbox/bindings.js';
import { doubtContents, provenRecord } from '../outbox/content-hash.js';
import { neverSent, type ParkClass } from '../outbox/message.js';
import { noteAbsence, settleSending } from '../outbox/transitions.js';
import { fromBeforeRecovery } from '../recovery/recover-messages.js';
import type { LookUpMessage } from './claim-look-ups.js';

/** The look-up's own writes; adopting is `adoptCustomer`. */
type SettledLookUp = Exclude<LookUpDecision, { to: 'adopted' }>;

interface LookUpOutcome {
  /** Null: not answered, to be tried again at `nextAttemptAt`. */
  decision: SettledLookUp | null;
  /** Asked for the record that was found. */
  holders: BindingHolders;
  nextAttemptAt: number;
  /** Why it was not answered. */
  reason: Fact | null;
  wasSent: boolean;
}

/**
 * Writes what became of one look-up: message and binding. The caller's transaction has checked the epoch and ends the
 * attempt. @returns false when another process has the message by now
 */
export async function settleLookUp(
  tx: Tx,
  message: LookUpMessage,
  { decision, holders, nextAttemptAt, reason, wasSent }: LookUpOutcome,
  epoch: number,
  now: ClockReading,
): Promise<boolean> {
  const { id, attemptNumber, failures, cause } = message;
  const schedule = { at: nextAttemptAt };
  const back = { state: cause === 'conflict' ? 'parked' : 'in_doubt', reason, schedule } as const;
  const transition = decision
    ? afterFinding(message, decision, now.wallMs)
    : { ...back, failures: failures + (wasSent ? 1 : 0) };
  const matched = await settleSending(tx, [{ id, attemptNumber, transition }], epoch, now.wallMs);
  if (matched === 0) return false;
  if (decision?.to === 'delivered') await bind(tx, message.id, decision, holders, now.wallMs);
  // From the answer on: the next one has to be asked for later than this one was answered.
  if (decision?.to === 'later' && decision.counts) await noteAbsence(tx, id, now);
  return true;
}

function afterFinding(
  { absences, failures }: LookUpMessage,
  decision: SettledLookUp,
  nowMs: number,
): Parameters<typeof settleSending>[1][number]['transition'] {
  const over = { parkClass: null, reason: null, failures: 0 };
  switch (decision.to) {
    case 'delivered': {
      const { serviceId, flag } = decision;
      return { ...over, state: 'delivered', schedule: null, serviceId, flag, foundAt: nowMs };
    }
    case 'pending':
      return { ...over, state: 'pending', schedule: { at: nowMs }, ...neverSent, absences: absences + 1 };
    case 'again':
      return { ...over, state: 'in_doubt', schedule: { at: nowMs }, absences: absences + 1 };
    case 'later': {
      // With its failures: they keep it from being sent before it has been looked up again.
      const schedule = { at: nowMs + Math.ceil(decision.inMs) };
      return { ...over, failures, state: 'in_doubt', reason: decision.reason, schedule };
    }
    case 'parked': {
      const { parkClass, reason } = decision;
      return { ...over, state: 'parked', parkClass, reason, schedule: { waitsFor: 'person' } };
    }
  }
}

/** The find proves nothing yet: the conflict is looked up once more. */
export async function postponeLookUp(tx: Tx, messageId: number, nextAttemptAt: number): Promise<void> {
  await tx.run(
    "UPDATE outbox_message SET next_attempt_at=?, reason_code='rival_on_its_way', reason_data='{}' WHERE id=?",
    [nextAttemptAt, messageId],
  );
}

/**
 * Binds what was found. A record that a lost store may have sent may have changed since: no look-up shows every field
 * of ours, so that a sweep at the next pass brings it up to date.
 */
async function bind(
  tx: Tx,
  messageId: number,
  decision: Extract<LookUpDecision, { to: 'delivered' }>,
  holders: BindingHolders,
  nowMs: number,
): Promise<void> {
  const isFromBefore = await fromBeforeRecovery(tx);
  const rows = await tx.rows<Omit<NewBinding, 'serviceId' | 'acknowledged' | 'words'> & { record: string | null }>(
    `SELECT m.entity, m.source_key, m.revision, m.generation, m.content_hash, m.mapping_fingerprint, m.identity, b.record
       FROM outbox_message m LEFT JOIN message_body b ON b.message_id=m.id WHERE m.id=?`,
    [messageId],
  );
  if (isFromBefore(messageId)) for (const row of rows) row.contentHash = null;
  const doubted = rows.filter((row) => row.contentHash === null);
  await doubtContents(
    tx,
    doubted.map(({ entity }) => ({ id: messageId, entity })),
  );
  const { serviceId, contentKnown, total } = decision;
  await bindRecords(
    tx,
    rows.map(({ record, ...row }) => ({
      ...row,
      serviceId,
      acknowledged: contentKnown ? provenRecord(row.contentHash, record) : null,
      words: { status: null, total },
      said: null,
    })),
    holders,
    nowMs,
  );
}

export type LookUpDecision =
  /** `unlike`: why what was found is another record than ours all the same. */
  | {
      to: 'delivered';
      serviceId: string;
      flag: Fact;
      contentKnown: boolean;
      total: number | null;
      unlike: Fact | null;
    }
  /** Another party made this customer: it is bound, and nothing of it is overwritten before a person has looked. */
  | { to: 'adopted'; found: FoundRecord }
  /** It does not exist: the same key and bytes go out as if for the first time. */
  | { to: 'pending' }
  /** Nothing was found, which proves nothing: the same key and bytes go out again while the service remembers the key. */
  | { to: 'again' }
  /** A first look-up that finds nothing proves nothing yet. `counts`: another one that finds nothing proves it. */
  | { to: 'later'; inMs: number; counts: boolean; reason: Fact }
  | { to: 'parked'; parkClass: ParkClass; reason: Fact };

export interface DecidedMessage
  extends Pick<LookUpMessage, 'entity' | 'cause' | 'doubt' | 'askedAt' | 'absences' | 'isForgotten' | 'firstSentAt'> {
  expectedTotal: bigint | null;
  /** True if the service accepted other records since it was first sent. */
  othersPass: boolean;
  /** The idempotency key led to what was found, and no other record has it. */
  isFoundByKey: boolean;
  /** The look-up names the idempotency key: a record under another key it does not find. */
  isAskedByKey: boolean;
  /** A store that was lost may have sent it, and changed it since. */
  isFromBeforeLoss: boolean;
}

/** The proof that a record was removed, or made before ours was sent. */
interface LookUpSettings {
  absenceProves: boolean;
  checkTotal: 'exact' | 'off';
  maxProcessingMs: number;
  /** Fields by which the service marks a record as removed, as the settings write them. */
  removalMarks?: readonly { [name: string]: JsonValue }[];
  /** Field that says when a record was made; absent: none. */
  createdAtField?: string;
}

/**
 * Decides from the finding of a look-up. Pure. Only one exact match proves that a record exists. Two look-ups that agree prove
 * that it does not exist, if the service shows a new record at once and can no longer be working on a request for it.
 * @param message.expectedTotal sum of its lines in the service's unit; null where there is nothing to compare
 */
export function decideLookUp(
  message: DecidedMessage,
  finding: LookUpFinding,
  settings: LookUpSettings,
): LookUpDecision {
  const park = (reason: Fact): LookUpDecision => ({
    to: 'parked',
    parkClass: message.cause === 'conflict' ? 'conflict' : 'unproven',
    reason,
  });
  switch (finding.kind) {
    case 'found': {
      if (message.cause === 'conflict' && message.entity === 'customer') return { to: 'adopted', found: finding };
      const { expectedTotal } = message;
      const wrongTotal =
        settings.checkTotal === 'exact' &&
        expectedTotal !== null &&
        finding.total !== null &&
        BigInt(finding.total) !== expectedTotal;
      // Numbers of orders repeat: what has another customer or total may be another order.
      if (wrongTotal)
        return park({
          code: 'found_with_other_total',
          serviceId: finding.serviceId,
          found: finding.total as number,
          expected: String(expectedTotal),
        });
      if (finding.differs.includes('customer_code'))
        return park({ code: 'found_with_other_customer', serviceId: finding.serviceId });
      const unlike = message.isFoundByKey ? null : whyUnlike(message, finding, settings);
      const { differs } = finding;
      const flag: Fact = { code: 'found_by_look_up', differs: differs.slice(0, 5), count: differs.length };
      // Something else made or changed it: the next update sends every field.
      const contentKnown = message.cause === 'in_doubt' && finding.differs.length === 0;
      const { serviceId, total } = finding;
      return { to: 'delivered', serviceId, flag, contentKnown, total, unlike };
    }
    case 'none':
      if (message.cause === 'conflict') return park({ code: 'exists_but_not_found' });
      return decideAbsence(message, settings, park);
    case 'several':
      return park({ code: 'found_several', count: finding.count });
    case 'odd':
      return park({ code: 'look_up_inconclusive', problem: finding.reason });
  }
}

/** Why a record with our number or code is another one, or one that is over, as far as the service shows it; null: nothing tells. */
function whyUnlike(
  { firstSentAt, isFromBeforeLoss }: Pick<DecidedMessage, 'firstSentAt' | 'isFromBeforeLoss'>,
  { serviceId, differs, shown }: FoundRecord,
  { removalMarks = [], createdAtField = '' }: LookUpSettings,
): Fact | null {
  if (differs.includes('items') && !isFromBeforeLoss) return { code: 'found_with_other_lines', serviceId };
  if (removalMarks.some((marks) => carries(shown, marks))) return { code: 'found_marked_removed', serviceId };
  const made = shown[createdAtField];
  // Without an offset it is the wall time of nobody knows which place.
  const madeAt = typeof made === 'string' && /T.*(Z|[+-]\d\d:?\d\d)$/.test(made) ? Date.parse(made) : Number.NaN;
  const isEarlier = firstSentAt !== null && madeAt < firstSentAt - clockToleranceMs;
  return isEarlier ? { code: 'found_made_before', serviceId, madeAt: outside(String(made), 40) } : null;
}

function carries(shown: { [name: string]: JsonValue }, marks: { [name: string]: JsonValue }): boolean {
  const said = Object.entries(marks);
  return said.length > 0 && said.every(([name, value]) => isDeepStrictEqual(shown[name], value));
}

/** Decides after a look-up that found nothing. */
function decideAbsence(
  { doubt, askedAt, absences, isForgotten, othersPass, isFromBeforeLoss, isAskedByKey }: DecidedMessage,
  { absenceProves, maxProcessingMs }: { absenceProves: boolean; maxProcessingMs: number },
  park: (reason: Fact) => LookUpDecision,
): LookUpDecision {
  const step = absenceStep(doubt, askedAt, maxProcessingMs);
  switch (step.next) {
    case 'wait':
      return { to: 'later', inMs: step.inMs, counts: false, reason: { code: 'perhaps_under_way' } };
    case 'first look-up':
      return { to: 'later', inMs: betweenLookUpsMs(maxProcessingMs), counts: true, reason: { code: 'not_found_once' } };
    case 'last look-up':
      // It was sent again each time that it was found absent, and failed again, while others pass.
      if (absences >= mostAbsences && othersPass) return park({ code: 'fails_again_and_again' });
      // A record that a comparison or a person had sent again has another key than this store can know.
      if (isAskedByKey && isFromBeforeLoss) return park({ code: 'absent_under_first_key' });
      if (absenceProves) return { to: 'pending' };
      return isForgotten ? park({ code: 'absence_proves_nothing' }) : { to: 'again' };
  }
}

/** The number of times that a create that is found absent goes out again under its key. */
export const mostAbsences = 3;

function foundAnother({ entity, serviceId }: { entity: Entity; serviceId: string }, problem: BindingProblem): Fact {
  switch (problem.kind) {
    case 'taken':
      return { code: 'found_as_other', entity, sourceKey: problem.heldBy, serviceId };
    case 'bound':
      return { code: 'found_twice', entity, serviceId, boundTo: problem.boundTo };
    case 'removed':
      return { code: 'found_removed', entity, serviceId };
  }
}

/** A found record may be another record's, which is bound to it or may have made it: then a person has to look. */
export function unlessAnothers(
  decision: LookUpDecision,
  { entity, sourceKey, cause, isFound }: Pick<LookUpMessage, 'entity' | 'sourceKey' | 'cause'> & { isFound: boolean },
  holders: BindingHolders,
  twin: UnprovenTwin | null,
): LookUpDecision {
  if (decision.to !== 'delivered') return decision;
  const { serviceId, unlike } = decision;
  const claim = { entity, sourceKey, serviceId, isFound };
  const problem = holders.problemOf(claim);
  if (problem !== null) {
    const reason = foundAnother({ entity, serviceId }, problem);
    return { to: 'parked', parkClass: 'conflict', reason };
  }
  const perhapsOther = (one: UnprovenTwin): Fact => {
    return { code: 'found_perhaps_other', entity, sourceKey: one.sourceKey, serviceId, shares: one.shares };
  };
  const reason = twin === null ? unlike : perhapsOther(twin);
  if (reason === null) return decision;
  return { to: 'parked', parkClass: cause === 'conflict' ? 'conflict' : 'unproven', reason };
}
