import { keyOf } from './erp-desk.js';
import type { History } from './history.js';
import { type LifeWithRequests, livesOf } from './lives.js';
import { adoptedMessages } from './store-invariants.js';

/** Attempts that provably had no effect; only then may corrected bytes take over a key. */
const withoutEffect = new Set(['refused', 'not_sent', 'unavailable']);

export function oneKeyOneBody(history: History): string[] {
  return livesOf(history).flatMap((life) => oneKeyOneBodyIn(life, history.replaysRefusals));
}

function oneKeyOneBodyIn({ requests, attempts }: LifeWithRequests, replaysRefusals: boolean): string[] {
  const bodies = new Map<string, Set<string>>();
  const add = (key: string | null, hash: string | null) => {
    if (key !== null && hash !== null) bodies.set(key, (bodies.get(key) ?? new Set()).add(hash));
  };
  for (const request of requests) {
    // A service that does not replay refusals has forgotten the key with its refusal.
    const isForgotten = !replaysRefusals && request.status === 400 && request.fault === null;
    if (!isForgotten) add(request.idempotency_key, request.body_sha256);
  }
  for (const attempt of attempts)
    if (!withoutEffect.has(attempt.verdict ?? '')) add(attempt.idempotency_key, attempt.body_hash);
  return [...bodies].flatMap(([key, hashes]) =>
    hashes.size > 1 ? [`the key ${key} went out with ${hashes.size} bodies`] : [],
  );
}

/** A create's key is a function of the record. Only a proven refusal by a service that replays refusals earns another one. */
export function oneCreateKeyPerRecord(history: History): string[] {
  const wrong: string[] = [];
  const refused = new Map<string, number>();
  const keys = new Map<string, { keys: Set<string>; generation: number }>();
  const counted = new Set<number | null>();
  for (const event of livesOf(history).flatMap((life) => life.events)) {
    if (event.what === 'message-changed' && event.new_state === 'parked' && event.text === 'refused') {
      const record = `${event.entity} ${event.source_key}`;
      refused.set(record, (refused.get(record) ?? 0) + 1);
      counted.add(event.message_id);
    }
  }
  // A conflict whose record turns out to be another one of ours is refused without a change of its state, and its key is burnt.
  const taken = (record: string) =>
    history.messages.filter(
      ({ id, entity, source_key: key, park_class: parkClass }) =>
        parkClass === 'refused' && !counted.has(id) && `${entity} ${key}` === record,
    ).length;
  for (const message of [...(history.past?.messages ?? []), ...history.messages]) {
    if (message.operation !== 'create' || message.idempotency_key === null) continue;
    const record = `${message.entity} ${message.source_key}`;
    const known = keys.get(record) ?? { keys: new Set(), generation: 0 };
    known.keys.add(message.idempotency_key);
    known.generation = Math.max(known.generation, message.generation);
    keys.set(record, known);
  }
  for (const [record, known] of keys) {
    // A person who looked, and found nothing, lets it go out with another key.
    const said = history.resolved.get(record) === 'not_delivered' ? 1 : 0;
    const allowed = (history.replaysRefusals ? (refused.get(record) ?? 0) : 0) + taken(record) + said;
    if (known.keys.size > allowed + 1 || known.generation > allowed)
      wrong.push(
        `${record} has ${known.keys.size} create keys up to generation ${known.generation}, ${allowed} refusals were proven`,
      );
  }
  return wrong;
}

/** The verdict of an attempt of which no byte left: an attempt that was answered, or may have arrived, has another one. */
const neverLeft = new Set(['not_sent', 'unavailable']);

/** Intent is durable before the first byte leaves: to each request one attempt, put on record before it, that is not said to have stayed here. */
export function everyRequestHasItsAttempt(history: History): string[] {
  const lives = livesOf(history);
  const byId = new Map(history.ledger.requests.map((request) => [request.request_id, request]));
  return lives.flatMap((life, index) => {
    const isLost = index < lives.length - 1;
    return [
      ...requestsWithoutAttempt(life),
      ...life.attempts.flatMap((attempt) => {
        const wrong: string[] = [];
        // Nobody came after the last daemon of a store that was lost; and who was killed while it read has no successor yet.
        const isExcused = isLost || (history.endedByForce && attempt.message_id === null);
        if (attempt.verdict === null && !isExcused)
          wrong.push(`attempt ${attempt.id} of message ${attempt.message_id} has no outcome, and nobody says so`);
        const request = attempt.request_id === null ? null : byId.get(attempt.request_id);
        if (request !== null && request?.idempotency_key !== attempt.idempotency_key)
          wrong.push(`attempt ${attempt.id} names the request ${attempt.request_id}, which was another one`);
        return wrong;
      }),
    ];
  });
}

/** The claim of a write has to be on record before the request, as noted by the store and not by whoever sent it. */
function requestsWithoutAttempt({ requests, attempts, events }: LifeWithRequests): string[] {
  const wrong: string[] = [];
  const claims = new Map<string, number[]>();
  for (const { what, text: key, at_ms: at } of events)
    if (what === 'attempt' && key !== null) claims.set(key, [...(claims.get(key) ?? []), at]);
  const intents = new Map<string, number[]>();
  for (const attempt of attempts) {
    if (neverLeft.has(attempt.verdict ?? '')) continue;
    const key = attempt.idempotency_key ?? 'reading';
    intents.set(key, [...(intents.get(key) ?? []), attempt.intended_at]);
  }
  const received = new Map<string, number[]>();
  for (const request of requests) {
    const key = request.idempotency_key ?? 'reading';
    received.set(key, [...(received.get(key) ?? []), request.received_at_ms]);
  }
  for (const [key, times] of received) {
    const intended = (intents.get(key) ?? []).sort((a, b) => a - b);
    const claimed = key === 'reading' ? intended : (claims.get(key) ?? []).sort((a, b) => a - b);
    times
      .sort((a, b) => a - b)
      .forEach((at, index) => {
        const before = intended[index] === undefined ? undefined : claimed[index];
        if (before === undefined)
          wrong.push(`request ${index + 1} with the key ${key} has no attempt on record that may have left`);
        // Both are whole milliseconds of one clock.
        else if (before > at + 1) wrong.push(`request ${index + 1} with the key ${key} came before its attempt`);
      });
  }
  return wrong;
}

export function customerBeforeOrder(history: History): string[] {
  const wrong: string[] = [];
  const acknowledged = new Set<string>();
  const customerOf = new Map(
    [...history.erp.orders, ...history.erp.deletedOrders].map((order) => [keyOf(order), order.customer_id]),
  );
  for (const life of livesOf(history)) {
    const known = new Map(life.messages.map((message) => [message.id, message]));
    const adopted = adoptedMessages(life);
    for (const event of life.events) {
      const isThere =
        event.new_state === 'delivered' ||
        (event.new_state === 'superseded' && adopted.has(event.message_id as number));
      if (event.what === 'message-changed' && event.entity === 'customer' && isThere)
        acknowledged.add(event.source_key as string);
      // A look-up has no key: it asks, and sends nothing of the order.
      if (event.what !== 'attempt' || event.message_id === null || event.text === null) continue;
      const message = known.get(event.message_id);
      if (message?.entity !== 'order') continue;
      const customer = customerOf.get(message.source_key);
      if (customer && !acknowledged.has(customer))
        wrong.push(`order ${message.source_key} was sent before its customer ${customer} was acknowledged`);
    }
  }
  return wrong;
}

/** After a loss nothing is sent before a recovery is on record. Invoices are only read, and are read all the time. */
export function heldUntilRecovered({ arrivals, past, recoveredAtMs }: History): string[] {
  if (!past) return [];
  if (recoveredAtMs === null) return ['the store was lost, and no recovery is on record'];
  const early = arrivals.filter(
    ({ atMs, request }) => atMs > past.endedAtMs && atMs < recoveredAtMs && !request.startsWith('GET /v2/invoices'),
  );
  return early.length === 0
    ? []
    : [
        `${early.length} requests were sent between the loss of the store and its recovery, the first is ${early[0]?.request}`,
      ];
}

/** In any sliding window, as the client's side of the network saw it, the commands of a person included. */
export function withinTheLimit({ arrivals, operatorArrivals, limit }: History): string[] {
  const times = [...arrivals, ...operatorArrivals].map((arrival) => arrival.monotonicMs).sort((a, b) => a - b);
  const wrong: string[] = [];
  for (let i = 0; i + limit.requests < times.length; i++) {
    const spanMs = (times[i + limit.requests] as number) - (times[i] as number);
    if (spanMs < limit.windowMs)
      wrong.push(`${limit.requests + 1} requests within ${spanMs.toFixed(1)} of ${limit.windowMs} ms`);
  }
  return wrong.slice(0, 3);
}
