import { type Doctored, soundHistory } from './sound-history.js';
import type { WitnessEvent } from './store-witness.js';

/** Its store is lost at that moment, with all that was noted until then. */
export function loseStore(history: Doctored, endedAtMs: number): void {
  const { messages, attempts, bindings, events, operated, resumedAt } = history;
  history.past = { messages, attempts, bindings, events, operated, resumedAt, endedAtMs, text: '' };
}

/** An older copy took the place of the store, was recovered at 400, and what it was sending is closed then by somebody else. */
export function closeWhatCopySent(history: Doctored, exportedAtMs: number | null, atMs: number): void {
  loseStore(history, 150);
  Object.assign(history, { exportedAtMs, recoveredAtMs: 400 });
  const settled = history.events.findLast(({ what }) => what === 'message-changed') as WitnessEvent;
  const closed = { ...settled, seq: 99, at_ms: atMs, lease_epoch: 2, new_state: 'superseded', text: null };
  history.events = [...history.events, closed];
}

export const first = <T>(list: readonly T[]): T => list[0] as T;
export const last = <T>(list: readonly T[]): T => list.at(-1) as T;

/** The last order was not delivered, but parked so long after it was sent. */
export function parkAs(history: Doctored, parkClass: string, afterMs: number): WitnessEvent {
  const event = history.events.findLast(({ what }) => what === 'message-changed') as WitnessEvent;
  return Object.assign(event, {
    at_ms: (event.new_first_sent as number) + afterMs,
    new_state: 'parked',
    text: parkClass,
  });
}

/** The service knew the key of the customer's create for something else; it was looked up then, and gave way to what was found. */
export function adoptCustomer(history: Doctored, finding: string): void {
  const settled = history.events.findIndex((e) => e.message_id === 1 && e.new_state === 'delivered');
  const event = history.events[settled] as WitnessEvent;
  const step = (from: string, to: string): WitnessEvent => ({
    ...event,
    old_state: from,
    new_state: to,
    text: to === 'parked' ? 'conflict' : null,
  });
  history.events = history.events.toSpliced(
    settled,
    1,
    step('sending', 'parked'),
    step('parked', 'sending'),
    step('sending', 'parked'),
    step('parked', 'superseded'),
  );
  history.messages = history.messages.with(0, { ...first(history.messages), state: 'superseded' });
  const asked = { ...first(history.attempts), id: 9, purpose: 'look_up', verdict: finding };
  history.attempts = [...history.attempts, asked];
}

/** Let go by one pass. */
export function released(count: number, text: string): WitnessEvent[] {
  const event = soundHistory().events.find(({ what }) => what === 'message-changed') as WitnessEvent;
  return Array.from({ length: count }, (_, index) => ({ ...event, seq: 100 + index, what: 'released', text }));
}

/** The last message was claimed. */
export function claimOf(history: Doctored): WitnessEvent {
  return history.events.findLast(({ new_state: state }) => state === 'sending') as WitnessEvent;
}

/** The last message was parked, and became pending again. */
export function unpark(history: Doctored, parkClass: string, to = 'pending'): WitnessEvent {
  const claim = claimOf(history);
  const pending = { ...claim, old_state: 'parked', old_park_class: parkClass, new_state: to };
  history.events = history.events.toSpliced(history.events.indexOf(claim), 0, pending);
  return pending;
}

/** A person looked, and said what there is of the order. */
export function resolveAs(history: Doctored, finding: 'delivered' | 'not_delivered'): void {
  history.resolved = new Map([['order 1', finding]]);
  history.operated = [{ message_id: 2, at: 205, outcome: finding }];
}

/** A list is refused with a "slow down" of this form, and another one is asked for so long after that is on record. */
export function slowDown(history: Doctored, form: string, afterMs: number): void {
  const list = { message_id: null, purpose: 'list_invoices', idempotency_key: null, body_hash: null, request_id: null };
  const told = { ...last(history.attempts), ...list, id: 8, intended_at: 400, started_at: 401, verdict: 'throttled' };
  const again = { ...told, id: 9, intended_at: 410 + afterMs, started_at: 411 + afterMs, verdict: 'read' };
  history.attempts = [...history.attempts, { ...told, reason: `HTTP 429 too_many_requests: torture ${form}` }, again];
  const settled = { ...last(history.events), seq: 99, at_ms: 410, message_id: null, attempt_id: 8, text: 'throttled' };
  history.events = [...history.events, settled];
}
