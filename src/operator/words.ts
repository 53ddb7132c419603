import type { LastPull } from '../inbound/invoices/pull-record.js';
import type { WaitsFor } from '../outbound/outbox/message.js';
import type { OperatorAction } from './actions/decide-message.js';
import type { Confirmation } from './actions/held-changes.js';

interface ActionWords {
  question: string;
  outcome: string;
}

/** What the terminal and the desk call the actions of an operator. */
export const actionWords: Record<OperatorAction, ActionWords & { possible: string }> = {
  retry: { question: 'Try again now:', possible: 'can be tried again:', outcome: 'Will be tried again now' },
  discard: { question: 'Discard for good:', possible: 'can be discarded:', outcome: 'Discarded' },
  delivered: {
    question: 'Record as delivered:',
    possible: 'can be resolved:',
    outcome: 'Recorded as delivered',
  },
  not_delivered: {
    question: 'Record as not delivered, and send again:',
    possible: 'can be resolved:',
    outcome: 'Recorded as not delivered; will be sent again now',
  },
  look_up: { question: 'Ask the service for', possible: 'can be looked up:', outcome: 'Will be looked up' },
};

export const heldWords: Record<Confirmation, ActionWords> = {
  send: { question: 'Send to the service:', outcome: 'Will be sent now' },
  adopt: { question: 'Adopt as the baseline, without sending:', outcome: 'Adopted without sending' },
  discard: { question: 'Discard for good:', outcome: 'Discarded' },
};

/** Stands in lists in the place of the time of a message that waits for something else. */
export const waitsForInWords: Record<WaitsFor, string> = { scan: 'when its scan ends', person: '' };

/** How the last pull of the invoices ended, for the terminal and the desk. Pure. */
export function pullInWords(pull: LastPull, time: (ms: number) => string): string {
  const reason = pull.reason ? ` (${pull.reason})` : '';
  const malformed = pull.malformed > 0 ? ` ${pull.malformed} make no sense: waybill invoices --malformed.` : '';
  const isOlder = (pull.outcome === 'held' || pull.outcome === 'failed') && pull.listedAt !== null;
  const age = isOlder ? ` The list is of ${time(pull.listedAt as number)}.` : '';
  return `Last pull ${time(pull.endedAt ?? pull.startedAt)}: ${pull.outcome}${reason}.${age}${malformed}`;
}

/** What came to the door of the webhooks, in words. */
export const tallyInWords: Record<string, string> = {
  stored: 'stored',
  repeated: 'stored already, so nothing was done',
  unread: 'answered, and nothing was done: its type is not in webhooks.events',
  forged: 'refused: not signed by one of our secrets',
  stale: 'refused: signed too long ago, or too far ahead',
  other_path: 'refused: another path',
  other_method: 'refused: not a POST',
  too_large: 'refused: too large',
  compressed: 'refused: compressed',
  other_type: 'refused: its type is not JSON',
  no_event: 'refused: no event in it',
  busy: 'put off: too many at once',
  store_away: 'put off: the store was away',
};
