import { isDeepStrictEqual } from 'node:util';
import type { History, MessageRow } from '../torture/history.js';
import { invariants } from '../torture/invariants.js';
import { attemptsSql, type WitnessEvent, withEpochsInForce } from '../torture/store-witness.js';
import { MemoryErp, type OrderRow } from './memory-erp.js';
import { type Arrival, refusedQty } from './model-service.js';
import { limit } from './profile.js';
import { sentinelsIn } from './sentinels.js';
import { unknownOrders } from './unknown-orders.js';
import type { World } from './world.js';

type StoredMessage = MessageRow & { customer_key: string | null };

/** The promises that hold at every moment. Returns what is wrong, a line for each. */
export function wrongNow(world: World): string[] {
  const wrong = [...world.wrong];
  for (const key of world.erp.everyKey()) {
    const held = world.service.ordersOf(`SO-${key}`);
    if (held.length > 1) wrong.push(`order ${key} is at the service ${held.length} times`);
  }
  const sentinels = sentinelsIn(world.kept, world.time.nowMs);
  return [
    ...wrong,
    ...sentinels,
    ...oneKeyOneBody(world),
    ...sweptButUnknown(world),
    ...check(world, 'no-stale-epoch'),
  ];
}

/** Rows that were there when a sweep began are known when the sweep is on record. */
function sweptButUnknown(world: World): string[] {
  const [cursor] = world.kept.rows<{ at: number | null }>(
    "SELECT swept_at AS at FROM capture_cursor WHERE name='order'",
  );
  const sweptAt = cursor?.at ?? 0;
  const unknown = unknownOrders(world).filter(({ touchedAtMs }) => touchedAtMs < sweptAt);
  return unknown.map(({ key }) => `order ${key} was there before the last sweep, and is unknown`);
}

/** Bytes that may have taken effect under a key go out again under it, until a person has looked or the service has said no. */
function oneKeyOneBody({ service, desk }: World): string[] {
  const wrong: string[] = [];
  const bodies = new Map<string, Arrival>();
  for (const arrival of service.arrivals) {
    if (arrival.key === null || desk.releasedKeys.has(arrival.key)) continue;
    const first = bodies.get(arrival.key);
    if (first && (first.bodyHash !== arrival.bodyHash || first.path !== arrival.path))
      wrong.push(`the key ${arrival.key} went out with two bodies: ${first.body} and ${arrival.body}`);
    if (isRefusal(arrival)) bodies.delete(arrival.key);
    else bodies.set(arrival.key, first ?? arrival);
  }
  return wrong;
}

function isRefusal({ answered, fate }: Arrival): boolean {
  return (answered === 400 || answered === 404) && fate !== 'in-progress';
}

/**
 * The promises when everybody has come to rest and nobody has helped yet: a message that waits, waits for a person, and
 * for a reason.
 */
export function wrongAtRest(world: World): string[] {
  const wrong: string[] = [];
  const messages = messagesOf(world);
  const bound = new Set(
    world.kept.rows<{ entity: string; source_key: string }>('SELECT entity, source_key FROM binding').map(nameOf),
  );
  for (const message of messages) {
    const { entity, source_key: key, state, operation, customer_key: customer } = message;
    const name = `${entity} ${key}, revision ${message.revision},`;
    if (state === 'sending' || state === 'in_doubt') wrong.push(`${name} is still ${state}`);
    if (state === 'pending') {
      const waits =
        (customer !== null && !bound.has(`customer ${customer}`)) ||
        (operation !== 'create' && !bound.has(nameOf(message)));
      if (!waits) wrong.push(`${name} is still pending, and waits for nothing`);
    }
    if (state !== 'parked') continue;
    const arrivals = world.service.arrivals.filter((one) => one.key !== null && one.key === message.idempotency_key);
    if (message.park_class === 'refused' && !arrivals.some(({ answered }) => (answered ?? 0) >= 400))
      wrong.push(`${name} is parked as refused, and the service never said so`);
    if (message.park_class === 'unproven' && arrivals.length === 0 && !world.hasStruck)
      wrong.push(`${name} is parked as unproven, and it never left`);
    if (message.park_class === 'conflict') wrong.push(`${name} is parked as a conflict: ${message.reason}`);
  }
  return wrong;
}

/** The promises when people have dealt with all that waited for them. */
export function wrongInTheEnd(world: World): string[] {
  const { erp, service, desk, setup } = world;
  const wrong: string[] = [];
  const messages = messagesOf(world);
  const newest = new Map(messages.map((message) => [nameOf(message), message]));
  const isDiscarded = (name: string) => messages.some((one) => nameOf(one) === name && desk.discarded.has(one.id));
  const used = new Set<string>();
  for (const key of erp.everyKey()) {
    const row = erp.orders.get(key);
    const held = service.ordersOf(`SO-${key}`)[0] ?? null;
    const last = newest.get(`order ${key}`);
    if (isDiscarded(`order ${key}`)) continue;
    const where = last ? `${last.state} (${last.operation}, ${last.park_class}: ${last.reason})` : 'nowhere';
    const cancelled = row?.status === 'cancelled' ? setup.onCancelled : null;
    const gone = row === undefined ? setup.onDeleted : cancelled;
    if (gone === 'delete' && held !== null && erp.orders.size > 0)
      wrong.push(`order ${key} was removed, is at the service, and ${where}`);
    if (gone !== null || row === undefined || isDiscarded(`customer ${row.customerKey}`)) continue;
    // The customer of an order that can not be sent stays in the ERP.
    if (!row.isBad || held !== null) used.add(row.customerKey);
    wrong.push(...wrongOrder(row, held?.record ?? null, last, where));
  }
  for (const key of used) {
    const row = erp.customers.get(key);
    const held = service.customers.get(`C-${key}`);
    if (row && !isDiscarded(`customer ${key}`) && !isDeepStrictEqual(held, MemoryErp.customerRecord(row)))
      wrong.push(`customer ${key} is ${JSON.stringify(held)} at the service, ${JSON.stringify(row)} in the ERP`);
  }
  return [...wrong, ...wrongInvoices(world), ...wrongOnRecord(world, messages)];
}

function wrongInvoices({ kept, service }: World): string[] {
  const listed = kept.rows<{ invoice_no: string; amount: number }>(
    'SELECT invoice_no, amount FROM invoice WHERE unlisted_at IS NULL',
  );
  const ours = new Map(listed.map(({ invoice_no: number, amount }) => [number, amount]));
  return isDeepStrictEqual(ours, service.invoices)
    ? []
    : [`unpaid are ${JSON.stringify([...service.invoices])}, and we have ${JSON.stringify([...ours])}`];
}

function wrongOrder(row: OrderRow, held: object | null, last: MessageRow | undefined, where: string): string[] {
  const isParked = (parkClass: string) => last?.state === 'parked' && last.park_class === parkClass;
  if (row.isBad) return isParked('unmapped') ? [] : [`order ${row.key} can't be mapped, and is ${where}`];
  if (row.qty === refusedQty) return isParked('refused') ? [] : [`order ${row.key} is refused, and is ${where}`];
  const wanted = MemoryErp.orderRecord(row);
  if (last?.state !== 'delivered' && last?.state !== 'superseded' && !(last === undefined && held !== null))
    return [`order ${row.key} is ${where}`];
  return isDeepStrictEqual(held, wanted)
    ? []
    : [
        `order ${row.key} is ${JSON.stringify(held)} at the service, ${JSON.stringify(wanted)} in the ERP, and ${where}`,
      ];
}

/** The store's records against the service's view. */
function wrongOnRecord(world: World, messages: readonly MessageRow[]): string[] {
  const { service, desk } = world;
  const history = historyOf(world);
  // A pass that ends with a hold keeps back what it wrote; and what a person decided needs no proof.
  const isHeld = (event: WitnessEvent) => event.old_state === 'pending' && event.text === 'held';
  // Only the service can say if a look-up proves anything.
  const decided = new Set(desk.touched);
  for (const { purpose, message_id: id } of history.attempts) if (purpose === 'look_up') decided.add(id as number);
  const events = history.events.filter((event) => !decided.has(event.message_id ?? 0) && !isHeld(event));
  const wrong = [
    ...check(world, 'within-the-limit'),
    ...check(world, 'legal-transitions', { events }),
    ...(world.hasPruned ? [] : check(world, 'every-request-has-its-attempt')),
    ...(world.hasPruned ? [] : check(world, 'holds-are-kept')),
  ];
  const answers = new Map(service.arrivals.map((arrival) => [arrival.requestId, arrival]));
  for (const attempt of history.attempts) {
    if (attempt.verdict !== 'delivered') continue;
    const arrival = answers.get(attempt.request_id ?? '');
    const status = arrival?.answered ?? 0;
    if (!(status >= 200 && status < 300) && !(arrival?.method === 'DELETE' && status === 404))
      wrong.push(`message ${attempt.message_id} was called delivered by ${arrival?.fate}, ${arrival?.answered}`);
  }
  for (const { message_id: id, request_id: request, verdict } of history.attempts) {
    const { fate, path } = answers.get(request ?? '') ?? {};
    const message = messages.find((one) => one.id === id);
    if (
      verdict === 'delivered' &&
      fate === 'wrong-total' &&
      path?.startsWith('/v1/orders') &&
      message?.operation !== 'delete'
    )
      if (message?.flag === null) wrong.push(`message ${id} was acknowledged with a wrong total, and nobody is told`);
  }
  const acknowledged = new Set(
    history.attempts.flatMap((one) => (one.verdict === 'delivered' || one.verdict === 'found' ? [one.message_id] : [])),
  );
  for (const { id, state } of world.hasPruned ? [] : messages)
    if (state === 'delivered' && !acknowledged.has(id) && !desk.touched.has(id))
      wrong.push(`message ${id} is delivered, and nothing acknowledged it`);
  return wrong;
}

/** An invariant of the torture, asked of this history, or of part of it. */
function check(world: World, invariant: string, part: Partial<History> = {}): string[] {
  return (invariants[invariant] as (history: History) => string[])({ ...historyOf(world), ...part });
}

/** As the torture sees a run: what its invariants ask for here. */
function historyOf({ kept, service }: World): History {
  return {
    limit,
    arrivals: service.arrivals.map(({ atMs }) => ({ monotonicMs: atMs })),
    operatorArrivals: [],
    ledger: {
      requests: service.arrivals.map((one) => ({
        request_id: one.requestId,
        idempotency_key: one.key,
        received_at_ms: one.atMs,
      })),
    },
    messages: kept.rows('SELECT * FROM outbox_message ORDER BY id'),
    attempts: kept.rows(`${attemptsSql} ORDER BY id`),
    bindings: kept.rows('SELECT entity, source_key, service_id FROM binding'),
    // Its times are those of the database, and not of this world.
    events: withEpochsInForce(kept.rows('SELECT * FROM torture_witness ORDER BY seq')).map((one) => ({
      ...one,
      at_ms: 0,
    })),
    resolved: new Map(),
    operated: kept.rows(
      "SELECT message_id, at, outcome FROM audit_log WHERE event='operator' AND message_id IS NOT NULL",
    ),
    // Here a hold is as good as its settings say elsewhere; what is asked is whether anything goes round it.
    maxUpdates: Number.POSITIVE_INFINITY,
    removals: { maxRemovals: Number.POSITIVE_INFINITY },
    resumedAt: [],
    past: null,
    endedByForce: false,
  } as unknown as History;
}

function messagesOf({ kept }: World): StoredMessage[] {
  return kept.rows<StoredMessage>('SELECT * FROM outbox_message ORDER BY revision, id');
}

function nameOf({ entity, source_key: key }: { entity: string; source_key: string }): string {
  return `${entity} ${key}`;
}
