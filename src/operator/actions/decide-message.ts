import type { Entity } from '../../model/record.js';
import { mayTakeEffectUntil } from '../../outbound/outbox/absence.js';
import { mayBeForgotten, sentUnknownWhen } from '../../outbound/outbox/idempotency-key.js';
import {
  isOtherRecord,
  type MessageState,
  type Operation,
  type ParkClass,
  type WaitsFor,
} from '../../outbound/outbox/message.js';
import type { ClockReading } from '../../store/clock.js';

/** What an operator can do to a message. The last three say what a person found at the service, or have it asked. */
export const operatorActions = ['retry', 'discard', 'delivered', 'not_delivered', 'look_up'] as const;
export type OperatorAction = (typeof operatorActions)[number];

/** What the decision needs to know of a message. */
export interface OperatedMessage {
  entity: Entity;
  operation: Operation;
  state: MessageState;
  parkClass: ParkClass | null;
  /** The newest that was used with its key, by itself or by a record that had the key before. */
  generation: number;
  /** When it is worked on next; null: not at any time, but see `waitsFor`. */
  nextAttemptAt: number | null;
  waitsFor: WaitsFor | null;
  /** When its bytes may have left for the first time; null: never. */
  firstSentAt: number | null;
  /** When its last request had ended here at the latest; null: not known. */
  ended: ClockReading | null;
  /** When it was last claimed for sending; null: never. */
  claimedAt: number | null;
  /** The service's id of the record, when it acknowledged the record before. */
  boundServiceId: string | null;
  /** `customer_code` of the mapped record of a customer: the id by which the service knows customers. */
  customerCode: string | null;
  /** A newer revision of the record is waiting, under way or acknowledged. */
  newerRevision: boolean;
}

export interface OperatorContext {
  now: ClockReading;
  keyLifetimeMs: number;
  /** Longest time that the service may still work on a request that has ended here. */
  maxProcessingMs: number;
  /** Formats a time for people. */
  time: (ms: number) => string;
  /** Whether the service answers a refused key with the same refusal for ever. */
  replaysRefusals: boolean;
  /** The service's id that a person found, for `delivered`. */
  serviceId: string | null;
  /** The entities whose records the service can be asked for. */
  canLookUp: readonly Entity[];
}

export type OperatorDecision =
  /** Goes (back) to the queue, due now. */
  | {
      to: 'pending' | 'in_doubt';
      generation: number;
      /** A create gets the key of the new generation, every other message the one after its own; the bytes stay. */
      newKey: boolean;
      /** The time from which the key's lifetime counts. */
      firstSentAt: number | null;
    }
  | { to: 'discarded' }
  | { to: 'delivered'; serviceId: string }
  /** Can't be done; `why` says what can. */
  | { to: null; why: string };

/**
 * What an operator's action does with a message. Pure; one question a paragraph. What may exist at the service is never
 * created again without a person who says that it does not.
 */
export function decideOperatorAction(
  action: OperatorAction,
  message: OperatedMessage,
  context: OperatorContext,
): OperatorDecision {
  switch (message.state) {
    case 'delivered':
      return refuse('it is delivered');
    case 'superseded':
      return refuse('a newer revision has replaced it');
    case 'discarded':
      return refuse('it was discarded; `waybill resync` reads a changed record again');
    // Its outcome is seconds away, and would overwrite this decision.
    case 'sending':
      return refuse('it is being sent right now; try again when its outcome is known');
    case 'pending':
    case 'in_doubt':
    case 'parked':
      break;
  }
  switch (action) {
    case 'retry':
      return retry(message, context);
    case 'discard':
      return discard(message);
    case 'delivered':
      return resolveDelivered(message, context);
    case 'not_delivered':
      return resolveNotDelivered(message, context);
    case 'look_up':
      return lookUp(message, context);
  }
}

function retry(message: OperatedMessage, context: OperatorContext): OperatorDecision {
  const { state, parkClass, operation, firstSentAt, generation } = message;
  const expired =
    operation === 'create' &&
    firstSentAt !== null &&
    mayBeForgotten(firstSentAt, context.now.wallMs, context.keyLifetimeMs);

  // Nothing changes but the time: the same key and bytes go out sooner.
  if (state === 'pending' || state === 'in_doubt') {
    if (state === 'in_doubt' && expired) return refuse(forgotten);
    if (message.waitsFor === 'scan')
      return refuse('the scan that found it has not ended; only its end shows whether a brake holds it');
    if (message.nextAttemptAt === null || message.nextAttemptAt <= context.now.wallMs)
      return refuse('it is due already; `waybill explain` says what it waits for');
    return { to: state, generation, newKey: false, firstSentAt };
  }

  if (parkClass === 'unmapped') return refuse(unmapped);
  // A retry of everything that is parked must not release what a brake holds.
  if (parkClass === 'held') return refuse('a brake holds it: `waybill confirm` shows what it would do, and sends it');
  if (isOtherRecord(message)) return refuse(otherRecord);
  if (parkClass === 'conflict')
    return refuse('something exists at the service under its key or code: look there, then `waybill outbox resolve`');
  const unsendable = whyNeverAgain(message);
  if (unsendable) return refuse(unsendable);

  // It may exist. The same key and bytes can't create a second one while the service remembers the key; an update sets
  // absolute values and may be repeated at any time.
  if (parkClass === 'unproven') {
    if (expired || (operation === 'create' && firstSentAt === null)) return refuse(forgotten);
    return { to: 'in_doubt', generation, newKey: false, firstSentAt };
  }

  // Refused with proof: nothing took effect. A service that replays refusals would repeat its "no" to the old key for ever.
  const newKey = context.replaysRefusals;
  const advances = newKey && operation === 'create';
  return { to: 'pending', generation: generation + (advances ? 1 : 0), newKey, firstSentAt: null };
}

function discard({ state, firstSentAt }: OperatedMessage): OperatorDecision {
  if (state === 'in_doubt')
    return refuse('it may have taken effect: look at the service and say `waybill outbox resolve` first');
  if (state === 'pending' && firstSentAt !== null)
    return refuse('the service has seen its key (it asked us to wait); it is delivered or parked at its next try');
  return { to: 'discarded' };
}

function resolveDelivered(message: OperatedMessage, { serviceId }: OperatorContext): OperatorDecision {
  if (isOtherRecord(message)) return refuse(otherRecord);
  if (!mayExist(message))
    return refuse('nothing of it is in doubt: resolve is for `in_doubt`, `unproven` and `conflict`');
  const id = serviceId ?? message.boundServiceId ?? (message.entity === 'customer' ? message.customerCode : null);
  if (id === null) return refuse('say which record at the service it is: --service-id');
  // The service has one id for a record, and an update never moves it.
  if (message.boundServiceId !== null && message.boundServiceId !== id)
    return refuse(`the service acknowledged the record as ${message.boundServiceId}, not as ${id}`);
  return { to: 'delivered', serviceId: id };
}

function resolveNotDelivered(message: OperatedMessage, context: OperatorContext): OperatorDecision {
  if (isOtherRecord(message)) return refuse(otherRecord);
  if (!mayExist(message))
    return refuse('nothing of it is in doubt: resolve is for `in_doubt`, `unproven` and `conflict`; try `retry`');
  const unsendable = whyNeverAgain(message);
  if (unsendable) return refuse(unsendable);
  if (message.parkClass === 'unmapped') return refuse(unmapped);
  // An update sets absolute values and may be repeated at any time.
  const until = message.operation === 'create' && mayTakeEffectUntil(message, context.now, context.maxProcessingMs);
  if (until) return refuse(mayStillArrive(context.time(until)));
  // In a conflict the service holds the old key with other bytes, or answers it with the old "no": only a new key gets through.
  const burnt = message.operation === 'create' && message.parkClass === 'conflict' && message.state === 'parked';
  return { to: 'pending', generation: message.generation + (burnt ? 1 : 0), newKey: burnt, firstSentAt: null };
}

/** Its key counts as forgotten from here on: it is asked for, and never resent blindly. */
function lookUp(message: OperatedMessage, { canLookUp }: OperatorContext): OperatorDecision {
  const { entity, operation, state, parkClass, generation } = message;
  const mayBeAsked =
    operation === 'create' && (state === 'in_doubt' || (state === 'parked' && parkClass === 'unproven'));
  if (!mayBeAsked) return refuse('only creates that are `in_doubt` or `unproven` are looked up');
  const unsendable = whyNeverAgain(message);
  if (unsendable) return refuse(unsendable);
  if (!canLookUp.includes(entity))
    return refuse(
      `the settings do not say how the service is asked for it (service.endpoints.${lookUpSetting[entity]})`,
    );
  return { to: 'in_doubt', generation, newKey: false, firstSentAt: sentUnknownWhen };
}

const lookUpSetting: Record<Entity, string> = { customer: 'lookUpCustomer', order: 'lookUpOrder' };

function mayExist({ state, parkClass, firstSentAt }: OperatedMessage): boolean {
  if (state !== 'parked') return state === 'in_doubt';
  // What can't be mapped was sent only by a store that is lost.
  return parkClass === 'unproven' || parkClass === 'conflict' || (parkClass === 'unmapped' && firstSentAt !== null);
}

/** Why sending it again would be wrong whatever its own attempts came to, or null. */
function whyNeverAgain({ operation, boundServiceId, newerRevision }: OperatedMessage): string | null {
  if (operation === 'create' && boundServiceId !== null)
    return `the service has acknowledged this record already, as ${boundServiceId}: another create could make a second one. Discard this message`;
  if (operation !== 'create' && newerRevision)
    return 'a newer revision of the record is on its way or delivered, and this one would undo it. Discard this message';
  return null;
}

const unmapped = 'its row in the ERP could not be mapped to a record: correct it there, and Waybill reads it again';

const forgotten =
  'the service may have forgotten its key since the first try, so a resend could create a second record: look there, then `waybill outbox resolve`';

const mayStillArrive = (until: string) =>
  `the service may still be working on its last request, so it may be there in a moment: look again after ${until}, and say it then`;

// It was never sent, and its binding is the other record's: either answer would overwrite that one or lose this one.
const otherRecord =
  'its key belongs to another record than the one at the service: `waybill confirm --key` overwrites that one with it, `waybill outbox discard` closes it';

function refuse(why: string): OperatorDecision {
  return { to: null, why };
}
