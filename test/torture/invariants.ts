import { isDeepStrictEqual } from 'node:util';
import { judgeCustomer, judgeOrder } from './erp-desk.js';
import type { History } from './history.js';

/** What must hold after every run, whatever happened in it. Each returns what is wrong, a line for each; empty is well. */
export const invariants: Record<string, (history: History) => string[]> = {
  'one-record-per-reference': oneRecordPerReference,
  'every-row-accounted-for': everyRowAccountedFor,
  'service-equals-erp': serviceEqualsErp,
  'one-key-one-body': oneKeyOneBody,
  'one-create-key-per-record': oneCreateKeyPerRecord,
  'every-request-has-its-attempt': everyRequestHasItsAttempt,
  'customer-before-order': customerBeforeOrder,
  'within-the-limit': withinTheLimit,
  'delivered-means-acknowledged': deliveredMeansAcknowledged,
  'legal-transitions': legalTransitions,
  'no-stale-epoch': noStaleEpoch,
  'no-send-without-the-lease': noSendWithoutTheLease,
  'erp-untouched': erpUntouched,
  'no-secret-anywhere': noSecretAnywhere,
  'stops-when-told': stopsWhenTold,
};

function oneRecordPerReference({ ledger, erp }: History): string[] {
  const known = new Set(erp.orders.map((order) => order.order_no));
  const seen = new Map<string | null, string[]>();
  for (const order of ledger.orders) seen.set(order.reference, [...(seen.get(order.reference) ?? []), order.order_id]);
  return [...seen].flatMap(([reference, ids]) => [
    ...(ids.length > 1 ? [`${reference} is there ${ids.length} times: ${ids.join(', ')}`] : []),
    ...(known.has(reference) ? [] : [`${ids.join(', ')} carries ${reference}, which the ERP does not know`]),
  ]);
}

function newestOf(history: History, entity: string, key: string | null | undefined) {
  return history.messages
    .filter((message) => message.entity === entity && message.source_key === key)
    .sort((a, b) => b.revision - a.revision)[0];
}

/** A person has to look, and rightly so: proof was destroyed. */
function waitsForPerson(history: History, entity: string, key: string): boolean {
  if (!history.forgotKeys && !history.everRefused.has(`${entity} ${key}`)) return false;
  return history.messages.some(
    (message) =>
      message.entity === entity &&
      message.source_key === key &&
      message.state === 'parked' &&
      message.park_class === 'unproven',
  );
}

export function everyRowAccountedFor(history: History): string[] {
  const { erp } = history;
  const wrong: string[] = [];
  const wanted = new Set<string>();
  for (const order of erp.orders) {
    const judged = judgeOrder(order, erp);
    if (judged.kind === 'ineligible') continue;
    const newest = newestOf(history, 'order', order.id);
    const where = newest
      ? `${newest.state}${newest.park_class ? ` (${newest.park_class}: ${newest.reason})` : ''}, revision ${newest.revision}`
      : 'nowhere';
    if (judged.kind === 'unmappable') {
      if (newest?.state !== 'parked' || newest.park_class !== 'unmapped')
        wrong.push(`order ${order.order_no} can not be sent, and is ${where}`);
      continue;
    }
    if (judged.kind === 'refused') {
      if (newest?.state !== 'parked') wrong.push(`order ${order.order_no} is refused by the service, and is ${where}`);
      continue;
    }
    wanted.add(order.customer_id as string);
    // Its customer may wait for a person; then so does it.
    const waits =
      waitsForPerson(history, 'order', order.id as string) ||
      waitsForPerson(history, 'customer', order.customer_id as string);
    if (newest?.state !== 'delivered' && newest?.state !== 'superseded' && !waits)
      wrong.push(`order ${order.order_no} is ${where}`);
    if (
      newest?.state === 'superseded' &&
      !history.bindings.some((b) => b.entity === 'order' && b.source_key === order.id)
    )
      wrong.push(`order ${order.order_no} is ${where}, and nothing is bound`);
  }
  for (const key of wanted) {
    const newest = newestOf(history, 'customer', key);
    if (!newest) wrong.push(`customer ${key} is nowhere`);
    else if (!['delivered', 'superseded'].includes(newest.state) && !waitsForPerson(history, 'customer', key))
      wrong.push(`customer ${key} is ${newest.state} (${newest.reason})`);
  }
  return wrong;
}

export function serviceEqualsErp(history: History): string[] {
  const { erp, ledger } = history;
  const wrong: string[] = [];
  const used = new Set<string>();
  for (const order of erp.orders) {
    const judged = judgeOrder(order, erp);
    if (judged.kind !== 'good' || waitsForPerson(history, 'order', order.id as string)) continue;
    if (waitsForPerson(history, 'customer', order.customer_id as string)) continue;
    used.add(order.customer_id as string);
    const held = ledger.orders.filter((one) => one.reference === order.order_no);
    if (held.length === 0) wrong.push(`order ${order.order_no} is not at the service`);
    for (const one of held)
      if (!isDeepStrictEqual(one.record, judged.body))
        wrong.push(
          `order ${order.order_no} is ${JSON.stringify(one.record)} at the service, ${JSON.stringify(judged.body)} in the ERP`,
        );
  }
  for (const customer of erp.customers) {
    if (!used.has(customer.id as string)) continue;
    const held = ledger.customers.find((one) => one.customer_code === customer.customer_no);
    const body = judgeCustomer(customer);
    if (!held) wrong.push(`customer ${customer.customer_no} is not at the service`);
    else if (!isDeepStrictEqual(held.record, body))
      wrong.push(
        `customer ${customer.customer_no} is ${JSON.stringify(held.record)} at the service, ${JSON.stringify(body)} in the ERP`,
      );
  }
  return wrong;
}

/** What provably had no effect; only then may corrected bytes take over a key. */
const withoutEffect = new Set(['refused', 'not_sent', 'unavailable']);

function oneKeyOneBody({ ledger, attempts, replaysRefusals }: History): string[] {
  const bodies = new Map<string, Set<string>>();
  const add = (key: string | null, hash: string | null) => {
    if (key !== null && hash !== null) bodies.set(key, (bodies.get(key) ?? new Set()).add(hash));
  };
  for (const request of ledger.requests) {
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
function oneCreateKeyPerRecord(history: History): string[] {
  const wrong: string[] = [];
  const refused = new Map<string, number>();
  const keys = new Map<string, { keys: Set<string>; generation: number }>();
  for (const event of history.events) {
    if (event.what === 'message-changed' && event.new_state === 'parked' && event.text === 'refused') {
      const record = `${event.entity} ${event.source_key}`;
      refused.set(record, (refused.get(record) ?? 0) + 1);
    }
  }
  for (const message of history.messages) {
    if (message.operation !== 'create' || message.idempotency_key === null) continue;
    const record = `${message.entity} ${message.source_key}`;
    const known = keys.get(record) ?? { keys: new Set(), generation: 0 };
    known.keys.add(message.idempotency_key);
    known.generation = Math.max(known.generation, message.generation);
    keys.set(record, known);
  }
  for (const [record, known] of keys) {
    const allowed = history.replaysRefusals ? (refused.get(record) ?? 0) : 0;
    if (known.keys.size > allowed + 1 || known.generation > allowed)
      wrong.push(
        `${record} has ${known.keys.size} create keys up to generation ${known.generation}, ${allowed} refusals were proven`,
      );
  }
  return wrong;
}

/** Intent is durable before the first byte leaves: to each request one attempt, put on record before it. */
function everyRequestHasItsAttempt(history: History): string[] {
  const wrong: string[] = [];
  const kindOf = (request: History['ledger']['requests'][number]) => request.idempotency_key ?? 'reading';
  const intents = new Map<string, number[]>();
  for (const attempt of history.attempts) {
    const key = attempt.idempotency_key ?? 'reading';
    intents.set(key, [...(intents.get(key) ?? []), attempt.intended_at]);
  }
  const requests = new Map<string, number[]>();
  for (const request of history.ledger.requests)
    requests.set(kindOf(request), [...(requests.get(kindOf(request)) ?? []), request.received_at_ms]);
  for (const [key, times] of requests) {
    const intended = (intents.get(key) ?? []).sort((a, b) => a - b);
    times
      .sort((a, b) => a - b)
      .forEach((at, index) => {
        const before = intended[index];
        if (before === undefined) wrong.push(`request ${index + 1} with the key ${key} has no attempt on record`);
        // Both are whole milliseconds of one clock.
        else if (before > at + 1) wrong.push(`request ${index + 1} with the key ${key} came before its attempt`);
      });
  }
  const byId = new Map(history.ledger.requests.map((request) => [request.request_id, request]));
  for (const attempt of history.attempts) {
    if (attempt.verdict === null && !(history.endedByForce && attempt.message_id === null))
      wrong.push(`attempt ${attempt.id} of message ${attempt.message_id} has no outcome, and nobody says so`);
    if (attempt.request_id === null) continue;
    const request = byId.get(attempt.request_id);
    if (!request || request.idempotency_key !== attempt.idempotency_key)
      wrong.push(`attempt ${attempt.id} names the request ${attempt.request_id}, which was another one`);
  }
  return wrong;
}

function customerBeforeOrder(history: History): string[] {
  const wrong: string[] = [];
  const acknowledged = new Map<string, number>();
  const messages = new Map(history.messages.map((message) => [message.id, message]));
  const customerOf = new Map(history.erp.orders.map((order) => [order.id, order.customer_id]));
  for (const event of history.events) {
    if (event.what === 'message-changed' && event.entity === 'customer' && event.new_state === 'delivered')
      acknowledged.set(event.source_key as string, acknowledged.get(event.source_key as string) ?? event.seq);
    if (event.what !== 'attempt' || event.message_id === null) continue;
    const message = messages.get(event.message_id);
    if (message?.entity !== 'order') continue;
    const customer = customerOf.get(message.source_key);
    if (customer && !acknowledged.has(customer))
      wrong.push(`order ${message.source_key} was sent before its customer ${customer} was acknowledged`);
  }
  return wrong;
}

/** In any sliding window, as the client's side of the network saw it. */
function withinTheLimit({ arrivals, limit }: History): string[] {
  const times = arrivals.map((arrival) => arrival.monotonicMs).sort((a, b) => a - b);
  const wrong: string[] = [];
  for (let i = 0; i + limit.requests < times.length; i++) {
    const spanMs = (times[i + limit.requests] as number) - (times[i] as number);
    if (spanMs < limit.windowMs)
      wrong.push(`${limit.requests + 1} requests within ${spanMs.toFixed(1)} of ${limit.windowMs} ms`);
  }
  return wrong.slice(0, 3);
}

/** Faults after which a success status is no acknowledgement. */
const unreadable = new Set(['html', 'empty-body', 'truncated-json', 'invalid-json-shape', 'cut-off', 'hang', 'status']);

function deliveredMeansAcknowledged(history: History): string[] {
  const wrong: string[] = [];
  const requests = new Map(history.ledger.requests.map((request) => [request.request_id, request]));
  for (const message of history.messages) {
    if (message.state !== 'delivered') continue;
    const name = `${message.entity} ${message.source_key}, revision ${message.revision},`;
    const last = history.attempts.find(
      (attempt) => attempt.message_id === message.id && attempt.verdict === 'delivered',
    );
    const request = requests.get(last?.request_id ?? '');
    if (!last || !request) {
      wrong.push(`${name} is delivered without an answer that says so`);
      continue;
    }
    if (request.status === null || request.status < 200 || request.status > 299 || unreadable.has(request.fault ?? ''))
      wrong.push(`${name} was called delivered by an answer ${request.status} with ${request.fault}`);
    if ((request.fault === 'wrong-total' && message.entity === 'order') !== (message.flag !== null))
      wrong.push(`${name} met ${request.fault ?? 'no fault'}, and its flag says: ${message.flag}`);
    const exists =
      message.entity === 'order'
        ? history.ledger.orders.some((order) => order.order_id === message.service_id)
        : history.ledger.customers.some((customer) => customer.customer_code === message.service_id);
    if (!exists) wrong.push(`${name} is delivered as ${message.service_id}, which the service does not have`);
  }
  for (const binding of history.bindings) {
    const delivered = history.messages.some(
      (message) =>
        message.entity === binding.entity && message.source_key === binding.source_key && message.state === 'delivered',
    );
    if (!delivered) wrong.push(`${binding.entity} ${binding.source_key} is bound, and was never delivered`);
  }
  return wrong;
}

const legal: Record<string, readonly string[]> = {
  pending: ['sending', 'superseded', 'discarded'],
  sending: ['pending', 'in_doubt', 'delivered', 'parked'],
  in_doubt: ['sending', 'parked', 'delivered', 'pending'],
  parked: ['superseded', 'pending', 'in_doubt', 'delivered', 'discarded'],
  delivered: [],
  superseded: [],
  discarded: [],
};

function legalTransitions({ events }: History): string[] {
  const wrong: string[] = [];
  for (const event of events) {
    const name = `${event.entity} ${event.source_key} (message ${event.message_id})`;
    if (event.what === 'message' && !['pending', 'parked'].includes(event.new_state ?? ''))
      wrong.push(`${name} began as ${event.new_state}`);
    if (event.what !== 'message-changed') continue;
    const { old_state: from, new_state: to } = event;
    if (from !== to && !legal[from ?? '']?.includes(to ?? '')) wrong.push(`${name} went from ${from} to ${to}`);
    // Nobody but a successor that proved a refusal clears it: what was in doubt stays in doubt until it is proven.
    if (from === 'sending' && to === 'pending' && event.old_first_sent !== null && event.new_first_sent === null)
      wrong.push(`${name} forgot that it was sent`);
    if (event.old_first_sent !== null && event.new_first_sent !== event.old_first_sent)
      wrong.push(`${name}: its first send moved from ${event.old_first_sent} to ${event.new_first_sent}`);
  }
  // What may have been sent is never treated as if it had not been: from "in doubt" only proof leads on.
  const doubtful = new Set<number>();
  for (const event of events) {
    if (event.what !== 'message-changed' || event.message_id === null) continue;
    if (event.new_state === 'in_doubt') doubtful.add(event.message_id);
    if (event.new_state === 'pending' && doubtful.has(event.message_id))
      wrong.push(`${event.entity} ${event.source_key} was in doubt and became pending`);
    if (event.new_state === 'parked' && event.text === 'refused' && doubtful.has(event.message_id))
      wrong.push(`${event.entity} ${event.source_key} was in doubt and became refused`);
  }
  return wrong;
}

/** The fence: whoever is no longer the deliverer writes nothing. */
function noStaleEpoch({ events }: History): string[] {
  return events.flatMap((event) => {
    const isClaim = event.what === 'attempt';
    const isOutcome = event.what === 'attempt-settled' && event.text !== 'unknown';
    if ((!isClaim && !isOutcome) || event.epoch === event.lease_epoch) return [];
    return [
      `${isClaim ? 'an attempt' : `an outcome (${event.text})`} of epoch ${event.epoch} was written in epoch ${event.lease_epoch}`,
    ];
  });
}

/** A deliverer that was overtaken, and wakes up, sends nothing. */
function noSendWithoutTheLease({ arrivals, events }: History): string[] {
  const leases = events.filter((event) => event.what === 'lease');
  const wrong: string[] = [];
  for (const arrival of arrivals) {
    // Only what came well before the request counts: the two are noted by different processes.
    const holder = leases.findLast((lease) => lease.at_ms <= arrival.atMs - 25)?.text;
    const now = leases.findLast((lease) => lease.at_ms <= arrival.atMs + 25)?.text;
    const isOurs = (text: string | null | undefined) => text?.endsWith(`:${arrival.pid}`) ?? false;
    if (!isOurs(holder) && !isOurs(now))
      wrong.push(`process ${arrival.pid} sent a request while ${holder} had the lease`);
  }
  return wrong.slice(0, 5);
}

function erpUntouched({ erpTouched }: History): string[] {
  return [...erpTouched];
}

function noSecretAnywhere({ texts, secrets }: History): string[] {
  return texts.flatMap(({ where, text }) =>
    secrets.flatMap((secret) => (text.includes(secret) ? [`${where} holds ${secret.slice(0, 12)}…`] : [])),
  );
}

function stopsWhenTold({ ends }: History): string[] {
  return ends.flatMap((end) => (end === 0 ? [] : [`a daemon ended with ${end} when it was told to stop`]));
}

/** All that is wrong, with the name of the invariant that says so. */
export function violationsOf(history: History): { invariant: string; detail: string }[] {
  return Object.entries(invariants).flatMap(([invariant, check]) =>
    check(history).map((detail) => ({ invariant, detail })),
  );
}
