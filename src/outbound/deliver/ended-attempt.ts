import type { Delivered } from '../../model/verdict.js';
import type { RequestOnRecord, Transition } from '../outbox/message.js';
import { type EndedAttempt, requestsOf } from './attempts.js';
import type { ClaimedMessage } from './claim-messages.js';
import type { Ended } from './outcome-batches.js';

/** A message that was sent, with what became of it. */
export interface SettledMessage extends Ended<ClaimedMessage, Delivered> {
  transition: Transition;
}

/** The attempt goes on record behind the correction of the clock, which moves what stands before it. */
export function byTheClockNow({ about, sent, isProbe }: Ended<ClaimedMessage, Delivered>, setMs: number) {
  const { startedAtMs } = sent;
  return {
    about: { ...about, claimedAt: about.claimedAt + setMs },
    sent: { ...sent, startedAtMs: startedAtMs === null ? null : startedAtMs + setMs },
    isProbe,
  };
}

const none = { startedAt: null, durationMs: null, requests: null, status: null, requestId: null, traceId: null };

/** The record of its request with the message that it delivered. */
export function requestOf({ sent, transition }: SettledMessage): RequestOnRecord {
  if (transition.state !== 'delivered') return none;
  const { startedAtMs: startedAt, durationMs, status, requestId, traceId = null } = sent;
  return { startedAt, durationMs, requests: requestsOf(sent), status, requestId, traceId };
}

/** The record of its request. */
export function endedAttempt({ about, sent, transition }: SettledMessage, epoch: number): EndedAttempt {
  const { verdict } = sent;
  const { state, parkClass, reason, schedule } = transition;
  const acknowledged = verdict.kind === 'delivered' && state === 'delivered' ? verdict : null;
  return {
    attempt: acknowledged
      ? null
      : {
          messageId: about.id,
          purpose: about.operation,
          number: about.attemptNumber,
          epoch,
          idempotencyKey: about.idempotencyKey,
          bodyHash: about.bodyHash,
          intendedAt: about.claimedAt,
        },
    sent,
    message: about,
    event: acknowledged ? 'delivered' : 'attempt',
    detail: {
      number: about.attemptNumber,
      operation: about.operation,
      idempotencyKey: about.idempotencyKey,
      bodyHash: about.bodyHash,
      nextAttemptAt: state !== 'parked' && schedule !== null && 'at' in schedule ? schedule.at : null,
      serviceId: acknowledged?.serviceId,
      renamedFrom: acknowledged?.renamedFrom,
      flag: acknowledged?.flag,
      serviceState: acknowledged ? (acknowledged.state ?? null) : undefined,
      serviceTotal: acknowledged ? (acknowledged.total ?? null) : undefined,
    },
    ...(state === 'parked' && { becameOf: [{ event: 'parked', outcome: parkClass, detail: { reason } }] }),
  };
}
