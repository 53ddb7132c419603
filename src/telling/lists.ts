import type { WaitsFor } from '../outbound/outbox/message.js';

/** Stands in lists in the place of the time of a message that waits for something else. */
export const waitsForInWords: Record<WaitsFor, string> = { scan: 'when its scan ends', person: '' };

/** The requests that came to the door of the webhooks, in words. */
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
