import { type Backoff, backoffMs, doubledMs } from '../../model/backoff.js';
import type { Fact } from '../../model/facts/fact.js';
import type { Entity } from '../../model/record.js';
import type { Verdict } from '../../model/verdict.js';

export const messageStates = [
  'pending',
  'sending',
  'in_doubt',
  'delivered',
  'parked',
  'superseded',
  'discarded',
] as const;
export type MessageState = (typeof messageStates)[number];

/** States in which a later revision of the same record has to wait. */
export const openStates = ['pending', 'sending', 'in_doubt'] as const satisfies readonly MessageState[];

/**
 * `unmapped` and `refused`: nothing took effect at the service, a corrected row leads to a new try.
 * `conflict` and `unproven`: something may exist there, so never another create.
 * `held`: never sent, and it could be; a person has to look first (`waybill confirm`).
 */
export const parkClasses = ['unmapped', 'refused', 'conflict', 'unproven', 'held'] as const;
export type ParkClass = (typeof parkClasses)[number];

export type Operation = 'create' | 'update' | 'delete';

/** The event of a record in the ERP for which it has to go at the service. */
export type Removal = 'cancelled' | 'deleted';

/** True if the record of a removal is back. Pure. */
export function isBack(removal: Removal, exists: boolean, isCancelled: boolean): boolean {
  return exists && (removal === 'deleted' || !isCancelled);
}

/**
 * The thing that a message waits for if no time is set: the end of the scan that found it, after which it may be put on
 * hold, or a person.
 */
export type WaitsFor = 'scan' | 'person';

/** When a message is worked on next. For a parked conflict, the time at which its record is looked up. */
export type Schedule = { readonly at: number } | { readonly waitsFor: WaitsFor };

/** The columns of a schedule; both are null of a message that has come to its end. */
export function scheduleColumns(schedule: Schedule | null): {
  next_attempt_at: number | null;
  waits_for: WaitsFor | null;
} {
  if (schedule === null) return { next_attempt_at: null, waits_for: null };
  return 'at' in schedule
    ? { next_attempt_at: schedule.at, waits_for: null }
    : { next_attempt_at: null, waits_for: schedule.waitsFor };
}

/** Schedule of a message that is parked now: only a conflict is looked up, everything else waits for a person. */
export function parkedSchedule(parkClass: ParkClass, nowMs: number): Schedule {
  return parkClass === 'conflict' ? { at: nowMs } : { waitsFor: 'person' };
}

/** The store's facts about the first send of a message, as its columns have them. */
export interface FirstSend {
  /** 1: its bytes may have left. */
  wasSent: 0 | 1;
  /** When they may have left for the first time; null of a sent one: not known, or its key no longer counts. It is never resent blindly. */
  firstSentAt: number | null;
}

export const neverSent: FirstSend = { wasSent: 0, firstSentAt: null };
/** Longer ago than any service remembers a key. */
export const sentUnknownWhen: FirstSend = { wasSent: 1, firstSentAt: null };

/** The state machine's facts about a message that is being sent. */
export interface SendingMessage extends FirstSend {
  id: number;
  entity: Entity;
  operation: Operation;
  /** The state it was claimed from: `in_doubt` means that an earlier attempt may have taken effect. */
  claimedFrom: 'pending' | 'in_doubt';
  failures: number;
  invalidAnswers: number;
  customerWaits: number;
}

export interface Transition extends FirstSend {
  state: MessageState;
  parkClass: ParkClass | null;
  reason: Fact | null;
  /** Null: it has come to its end. */
  schedule: Schedule | null;
  failures: number;
  invalidAnswers: number;
  customerWaits: number;
  serviceId: string | null;
  flag: Fact | null;
}

/** When a request left and how it was answered, as `Sent` has it; all null: it delivered nothing. */
export interface RequestOnRecord {
  startedAt: number | null;
  durationMs: number | null;
  requests: number | null;
  status: number | null;
  requestId: string | null;
  traceId: string | null;
}

export interface SettleContext {
  nowMs: number;
  /** In [0, 1), drawn for this message. */
  random: number;
  backoff: Backoff;
  /** When the attempt's request could have left at the earliest. */
  sentAtMs: number;
  /** Tries in a row that the service put off or failed, this one included. */
  tries: number;
}

const busyWaitMs = 1_000;
/** The waits of an order whose customer the service does not know yet. */
const customerBackoff: Backoff = { baseMs: 1_000, maxMs: 60_000 };
/** No message is told to wait longer than this, or than the longest backoff. */
export const longestOwnWaitMs = 60_000;
/** In this time others show whether it is one record that is forbidden. */
const forbiddenWaitMs = 10_000;
const maxInvalidAnswers = 3;
const maxCustomerWaits = 3;

/** From `sending` and a verdict to the next state. Pure: the clock and the dice are handed in. */
export function settle(message: SendingMessage, verdict: Verdict, context: SettleContext): Transition {
  const { nowMs } = context;
  const firstSentAt = message.wasSent ? message.firstSentAt : context.sentAtMs;
  const same: Transition = {
    state: message.claimedFrom,
    parkClass: null,
    reason: 'reason' in verdict ? verdict.reason : null,
    schedule: { at: nowMs },
    failures: message.failures,
    invalidAnswers: message.invalidAnswers,
    customerWaits: message.customerWaits,
    wasSent: 1,
    firstSentAt,
    serviceId: null,
    flag: null,
  };
  const wait = (count: number) => ({ at: nowMs + backoffMs(count, context.backoff, context.random) });
  const park = (parkClass: ParkClass): Transition => {
    return { ...same, state: 'parked', parkClass, schedule: parkedSchedule(parkClass, nowMs) };
  };

  switch (verdict.kind) {
    case 'delivered':
      return { ...same, state: 'delivered', schedule: null, serviceId: verdict.serviceId, flag: verdict.flag };

    case 'in_doubt': {
      const failures = message.failures + 1;
      if (verdict.others === 'pass still') return { ...park('unproven'), failures };
      return { ...same, state: 'in_doubt', failures, schedule: wait(failures) };
    }

    // Three times the success status without an acknowledgement: the service did something, and we can't tell what.
    case 'invalid': {
      const invalidAnswers = message.invalidAnswers + 1;
      if (invalidAnswers >= maxInvalidAnswers) return { ...park('unproven'), invalidAnswers };
      const failures = message.failures + 1;
      return { ...same, state: 'in_doubt', failures, invalidAnswers, schedule: wait(failures) };
    }

    // Waiting for the service as a whole costs the message nothing: the lane's pause keeps it back.
    case 'unavailable':
      return { ...same, ...firstSendOf(message), schedule: wait(1) };
    case 'not_sent':
      return { ...same, ...firstSendOf(message) };
    // It gives way to others, which show whether the service asks for less or refuses this one record.
    case 'throttled': {
      // A later refusal of what a gateway answered for would prove nothing: see `provenRefusal`.
      const state = verdict.mayHaveTakenEffect ? 'in_doubt' : message.claimedFrom;
      if (verdict.others === 'pass still') return park(provenRefusal({ claimedFrom: state }));
      const { backoff, random } = context;
      const askedMs = verdict.retryAfterMs ?? 0;
      const waitMs = Math.min(askedMs + backoffMs(context.tries, backoff, random), backoff.maxMs);
      // A pause of the lane keeps the service's time, and a person may end it. A record of its own has no pause.
      return { ...same, state, schedule: { at: nowMs + (verdict.others ? Math.max(askedMs, waitMs) : waitMs) } };
    }

    // One record that we may not send stops no other one. Others go first, and show whether it is the record or we.
    case 'misconfigured':
      if (verdict.others === 'pass still') return park(provenRefusal(message));
      if (verdict.others === 'passed')
        return { ...same, schedule: { at: nowMs + Math.min(forbiddenWaitMs, context.backoff.maxMs) } };
      return verdict.mayHaveTakenEffect ? { ...same, state: 'in_doubt' } : same;
    case 'unauthorised':
      return same;

    // The first request with this key is still running: it may well succeed. A request that has run
    // for an hour does not end within a second, and the service must not be asked that often for
    // ever.
    case 'busy': {
      if (verdict.others === 'pass still') return park('unproven');
      const takenMs = firstSentAt === null ? Number.POSITIVE_INFINITY : nowMs - firstSentAt;
      const waitMs = Math.min(longestOwnWaitMs, Math.max(busyWaitMs, takenMs / 10));
      return { ...same, state: 'in_doubt', schedule: { at: nowMs + Math.round(waitMs) } };
    }

    // Its customer was acknowledged a moment ago; the service may need time to see it itself.
    case 'unknown_customer': {
      const customerWaits = message.customerWaits + 1;
      if (customerWaits > maxCustomerWaits) return { ...park(provenRefusal(message)), customerWaits };
      return { ...same, customerWaits, schedule: { at: nowMs + doubledMs(customerWaits, customerBackoff) } };
    }

    case 'conflict':
      return park('conflict');

    case 'refused':
      return park(provenRefusal(message));
  }
}

function firstSendOf({ wasSent, firstSentAt }: FirstSend): FirstSend {
  return { wasSent, firstSentAt };
}

/** A refusal proves that nothing exists only if no earlier attempt may have taken effect. An update is never a create. */
function provenRefusal(message: Pick<SendingMessage, 'claimedFrom'>): ParkClass {
  return message.claimedFrom === 'in_doubt' ? 'unproven' : 'refused';
}

/** True if a message is parked because its key belongs to another record now than the one that the service has under it. */
export function isOtherRecord(message: {
  state: MessageState;
  parkClass: ParkClass | null;
  operation: Operation;
  wasSent: 0 | 1;
}): boolean {
  const { state, parkClass, operation, wasSent } = message;
  return state === 'parked' && parkClass === 'conflict' && operation === 'update' && !wasSent;
}
