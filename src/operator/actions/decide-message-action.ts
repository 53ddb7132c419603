import type { PlainRefusal, RefusalFact } from '../../model/facts/actions.js';
import type { Entity } from '../../model/record.js';
import { mayTakeEffectUntil } from '../../outbound/outbox/absence.js';
import { mayBeForgotten } from '../../outbound/outbox/idempotency-key.js';
import {
  type FirstSend,
  isOtherRecord,
  type MessageState,
  neverSent,
  type Operation,
  type ParkClass,
  sentUnknownWhen,
  type WaitsFor,
} from '../../outbound/outbox/message.js';
import type { ClockReading } from '../../store/clock.js';

/** The actions of an operator on a message. The last three say what a person found at the service, or have it asked. */
export const operatorActions = ['retry', 'discard', 'delivered', 'not_delivered', 'look_up'] as const;
export type OperatorAction = (typeof operatorActions)[number];

/** The facts about a message that the decision needs. */
export interface OperatedMessage extends FirstSend {
  entity: Entity;
  operation: Operation;
  state: MessageState;
  parkClass: ParkClass | null;
  /** The newest that was used with its key, by itself or by a record that had the key before. */
  generation: number;
  /** When it is worked on next; null: not at any time, but see `waitsFor`. */
  nextAttemptAt: number | null;
  waitsFor: WaitsFor | null;
  /** When its last request had ended here at the latest; null: not known. */
  ended: ClockReading | null;
  /** When it was last claimed for sending; null: never. */
  claimedAt: number | null;
  /** The service's id of the record, when it acknowledged the record before. */
  boundServiceId: string | null;
  /** `customer_code` of the mapped record of a customer: the id by which the service knows customers. */
  customerCode: string | null;
  /** Number of an order. */
  number: string | null;
  /** A newer revision of the record is waiting, under way or acknowledged. */
  newerRevision: boolean;
}

export interface OperatorContext {
  now: ClockReading;
  keyLifetimeMs: number;
  /** Longest time that the service may still work on a request that has ended here. */
  maxProcessingMs: number;
  /** True if the service answers a refused key with the same refusal for ever. */
  replaysRefusals: boolean;
  /** The service's id that a person found, for `delivered`. */
  serviceId: string | null;
  /** The entities whose records the service can be asked for. */
  canLookUp: readonly Entity[];
  /** The entities that the service knows by a field of ours, which a change may give another value. */
  ownIds: readonly Entity[];
}

export type OperatorDecision =
  /** Goes (back) to the queue, due now. */
  | ({
      to: 'pending' | 'in_doubt';
      generation: number;
      /** A create gets the key of the new generation, every other message the one after its own; the bytes stay. */
      newKey: boolean;
    } & FirstSend)
  | { to: 'discarded' }
  | { to: 'delivered'; serviceId: string }
  | { to: null; why: RefusalFact };

/**
 * Decides the effect of an operator's action on a message. Pure; one question a paragraph. A record that may exist at
 * the service is never created again without a person who says that it does not.
 */
export function decideOperatorAction(
  action: OperatorAction,
  message: OperatedMessage,
  context: OperatorContext,
): OperatorDecision {
  switch (message.state) {
    case 'delivered':
      return refuse('already_delivered');
    case 'superseded':
      return refuse('already_superseded');
    case 'discarded':
      return refuse('already_discarded');
    // Its outcome is seconds away, and would overwrite this decision.
    case 'sending':
      return refuse('being_sent');
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
  const { state, parkClass, operation, wasSent, firstSentAt, generation } = message;
  const expired =
    operation === 'create' && wasSent === 1 && mayBeForgotten(firstSentAt, context.now.wallMs, context.keyLifetimeMs);

  // Nothing changes but the time: the same key and bytes go out sooner.
  if (state === 'pending' || state === 'in_doubt') {
    if (state === 'in_doubt' && expired) return refuse('key_forgotten');
    if (message.waitsFor === 'scan') return refuse('scan_unfinished');
    if (message.nextAttemptAt === null || message.nextAttemptAt <= context.now.wallMs) return refuse('already_due');
    return { to: state, generation, newKey: false, wasSent, firstSentAt };
  }

  if (parkClass === 'unmapped') return refuse('row_unmapped');
  // A retry of everything that is parked must not release what is on hold.
  if (parkClass === 'held') return refuse('held_for_review');
  if (isOtherRecord(message)) return refuse('key_of_other_record');
  if (parkClass === 'conflict') return refuse('taken_at_service');
  const unsendable = whyNeverAgain(message);
  if (unsendable) return refuse(unsendable);

  // It may exist. The same key and bytes can't create a second one while the service remembers the key; an update sets
  // absolute values and may be repeated at any time.
  if (parkClass === 'unproven') {
    if (expired || (operation === 'create' && !wasSent)) return refuse('key_forgotten');
    return { to: 'in_doubt', generation, newKey: false, wasSent, firstSentAt };
  }

  // Refused with proof: nothing took effect. A service that replays refusals would repeat its "no" to the old key for ever.
  const newKey = context.replaysRefusals;
  const advances = newKey && operation === 'create';
  return { to: 'pending', generation: generation + (advances ? 1 : 0), newKey, ...neverSent };
}

function discard({ state, wasSent }: OperatedMessage): OperatorDecision {
  if (state === 'in_doubt') return refuse('may_have_arrived');
  if (state === 'pending' && wasSent) return refuse('key_seen');
  return { to: 'discarded' };
}

function resolveDelivered(message: OperatedMessage, { serviceId, ownIds }: OperatorContext): OperatorDecision {
  const { entity, operation, customerCode, boundServiceId } = message;
  if (isOtherRecord(message)) return refuse('key_of_other_record');
  if (!mayExist(message)) return refuse(whyNothingInDoubt(message));
  // Where code or number is the id, a change of it that has arrived moves the record: the old one may be another record's.
  const name = entity === 'customer' ? customerCode : message.number;
  const isMoved = ownIds.includes(entity) && operation === 'update' && name !== null && boundServiceId !== null;
  if (isMoved && name !== boundServiceId)
    return refuse({ code: 'moves_to_new_id', entity, from: boundServiceId, to: name });
  const id = serviceId ?? boundServiceId ?? (entity === 'customer' ? customerCode : null);
  if (id === null) return refuse('needs_service_id');
  // The service has one id for a record, and an update never moves it.
  if (boundServiceId !== null && boundServiceId !== id)
    return refuse({ code: 'other_service_id', serviceId: boundServiceId, said: id });
  return { to: 'delivered', serviceId: id };
}

function resolveNotDelivered(message: OperatedMessage, context: OperatorContext): OperatorDecision {
  if (isOtherRecord(message)) return refuse('key_of_other_record');
  if (!mayExist(message)) return refuse(whyNothingInDoubt(message));
  const unsendable = whyNeverAgain(message);
  if (unsendable) return refuse(unsendable);
  if (message.parkClass === 'unmapped') return refuse('row_unmapped');
  // An update sets absolute values and may be repeated at any time.
  const until = message.operation === 'create' && mayTakeEffectUntil(message, context.now, context.maxProcessingMs);
  if (until) return refuse({ code: 'still_working', until });
  // The service may keep its failure, its refusal or other bytes with the old key, and repeat that for ever.
  const advances = message.operation === 'create';
  return { to: 'pending', generation: message.generation + (advances ? 1 : 0), newKey: true, ...neverSent };
}

/** Its key counts as forgotten from here on: it is asked for, and never resent blindly. */
function lookUp(message: OperatedMessage, { canLookUp }: OperatorContext): OperatorDecision {
  const { entity, operation, state, parkClass, generation } = message;
  const mayBeAsked =
    operation === 'create' && (state === 'in_doubt' || (state === 'parked' && parkClass === 'unproven'));
  if (!mayBeAsked) return refuse('nothing_to_look_up');
  const unsendable = whyNeverAgain(message);
  if (unsendable) return refuse(unsendable);
  if (!canLookUp.includes(entity)) return refuse({ code: 'no_look_up', entity });
  return { to: 'in_doubt', generation, newKey: false, ...sentUnknownWhen };
}

function mayExist({ state, parkClass, wasSent }: OperatedMessage): boolean {
  if (state !== 'parked') return state === 'in_doubt';
  // A record that can't be mapped was sent only by a store that is lost.
  return parkClass === 'unproven' || parkClass === 'conflict' || (parkClass === 'unmapped' && wasSent === 1);
}

/** Names the way out: a retry is none for what is on hold, nor for a row that can't be mapped. */
function whyNothingInDoubt({ parkClass }: OperatedMessage): PlainRefusal {
  if (parkClass === 'held') return 'held_for_review';
  return parkClass === 'unmapped' ? 'row_unmapped' : 'nothing_in_doubt';
}

/** Reason why sending it again would be wrong whatever its own attempts came to, or null. */
function whyNeverAgain({
  operation,
  boundServiceId,
  newerRevision,
}: OperatedMessage): RefusalFact | PlainRefusal | null {
  if (operation === 'create' && boundServiceId !== null) return { code: 'would_be_second', serviceId: boundServiceId };
  return operation !== 'create' && newerRevision ? 'newer_revision' : null;
}

function refuse(why: PlainRefusal | RefusalFact): OperatorDecision {
  return { to: null, why: typeof why === 'string' ? ({ code: why } as RefusalFact) : why };
}
