import type { Verdict } from '../../model/verdict.js';
import type { Operation } from '../outbox/message.js';

/** The history of a message that the service put off or failed, and of the others meanwhile. */
export interface Tries {
  /** Tries in a row that ended so, this one included. */
  count: number;
  /** Those of them that were told to slow down. */
  throttled: number;
  /** When the first of them ended; null: this is the first. */
  sinceMs: number | null;
  /** In how many of the times between them the service accepted another record, counted up to `enoughBesides`. */
  besides: number;
  /** Since an earlier one was told to slow down, another record was for the first time, or a read. */
  othersThrottled: boolean;
  /** The service ever acknowledged a request for another record of this kind at the same endpoint. */
  isEndpointProven: boolean;
}

/** After so many tries in a row a person has to look. With the back-off of the settings that takes some two hours. */
const mostTries = 20;
/** Before what fails waits for a person, the service has to have accepted others so often. */
export const enoughBesides = 5;

/** True if the history of tries can change the consequences of a verdict, so that it is worth a look into the store. Pure. */
export function asksForTries({ verdict, attemptNumber }: { verdict: Verdict; attemptNumber: number }): boolean {
  switch (verdict.kind) {
    case 'throttled':
    case 'invalid':
      return attemptNumber > 1;
    case 'in_doubt':
    case 'busy':
      return attemptNumber >= enoughBesides;
    default:
      return false;
  }
}

/**
 * Tells a record that the service puts off or fails each time from a service that is throttled or out. Such a record stops no
 * other one; it waits by itself, and for a person in the end. Pure; one question a paragraph.
 * @param maxProcessingMs how long the service may work on a request
 */
export function amongOthers(
  verdict: Verdict,
  operation: Operation,
  tries: Tries,
  { nowMs, maxProcessingMs }: { nowMs: number; maxProcessingMs: number },
): Verdict {
  const othersPass = tries.besides > 0;
  const others = (isHopeless: boolean) => (isHopeless ? 'pass still' : 'passed');
  switch (verdict.kind) {
    // Records that are told to slow down for the first time show that the service means all of them.
    case 'throttled': {
      const isOwn = othersPass && tries.throttled > 1 && !tries.othersThrottled;
      return isOwn ? { ...verdict, others: others(tries.throttled >= mostTries) } : verdict;
    }

    // In an outage it fails as often, and others pass in few of the times between, if at all.
    case 'in_doubt':
      return othersPass
        ? { ...verdict, others: others(tries.count >= mostTries && tries.besides >= enoughBesides) }
        : verdict;

    // This is about one key by its meaning, whatever becomes of others. No request is worked on for longer.
    case 'busy': {
      const forMs = tries.sinceMs === null ? 0 : nowMs - tries.sinceMs;
      return tries.count >= mostTries && forMs >= maxProcessingMs ? { ...verdict, others: 'pass still' } : verdict;
    }

    // Address and settings are right: this endpoint has acknowledged others, or the service the record that is changed or removed.
    case 'invalid':
      return tries.isEndpointProven || operation !== 'create' ? { ...verdict, others: 'passed' } : verdict;

    default:
      return verdict;
  }
}
