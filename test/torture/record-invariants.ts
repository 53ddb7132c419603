import { isDeepStrictEqual } from 'node:util';
import type { LedgerOrder } from '../../src/lab/sandbox/ledger.js';
import { keyOf, type Row } from './erp-desk.js';
import type { History } from './history.js';
import { judgeCustomer, judgeOrder } from './judge-erp.js';
import type { RemovalEffect } from './plan.js';

export function oneRecordPerReference({ ledger, erp }: History): string[] {
  const known = new Map<string | null, number>();
  for (const { order_no: number = null } of [...erp.orders, ...erp.deletedOrders])
    known.set(number, (known.get(number) ?? 0) + 1);
  const seen = new Map<string | null, string[]>();
  for (const order of ledger.orders) seen.set(order.reference, [...(seen.get(order.reference) ?? []), order.order_id]);
  return [...seen].flatMap(([reference, ids]) => [
    // Two orders of the ERP may carry one number.
    ...(ids.length > (known.get(reference) ?? 1)
      ? [`${reference} is there ${ids.length} times: ${ids.join(', ')}`]
      : []),
    ...(known.has(reference) ? [] : [`${ids.join(', ')} carries ${reference}, which the ERP does not know`]),
  ]);
}

function newestOf(history: History, entity: string, key: string | null | undefined) {
  return history.messages
    .filter((message) => message.entity === entity && message.source_key === key)
    .sort((a, b) => b.revision - a.revision)[0];
}

/** A person has to look, and rightly so: proof was destroyed. */
export function waitsForPerson(history: History, entity: string, key: string): boolean {
  return history.messages.some(
    (message) =>
      message.entity === entity &&
      message.source_key === key &&
      message.state === 'parked' &&
      message.park_class === 'unproven' &&
      (history.everRefused.has(`${entity} ${key}`) || outlivedItsKey(history, message.id)),
  );
}

/** Nobody knew what became of it for as long as the service remembers a key. */
function outlivedItsKey({ keyLifetimeMs, events }: History, messageId: number): boolean {
  if (keyLifetimeMs === null) return false;
  const changes = events.filter(({ what, message_id: id }) => what === 'message-changed' && id === messageId);
  const firstSentAt = changes.find((event) => event.new_first_sent !== null)?.new_first_sent ?? null;
  const parkedAt = changes.findLast((event) => event.new_state === 'parked')?.at_ms ?? null;
  return firstSentAt !== null && parkedAt !== null && parkedAt - firstSentAt >= keyLifetimeMs;
}

/** A record that was taken over from an export has a binding and no message. */
function isBound({ bindings }: History, entity: string, key: string | null | undefined): boolean {
  return bindings.some((binding) => binding.entity === entity && binding.source_key === key);
}

export function everyRowAccountedFor(history: History): string[] {
  const { erp } = history;
  const wrong: string[] = [];
  const wanted = new Set<string>();
  for (const order of erp.orders) {
    const judged = judgeOrder(order, erp);
    // Under which spelling it goes on is not asked here.
    if (judged.kind === 'ineligible' || history.respelled.has(order.order_no ?? '')) continue;
    const key = keyOf(order);
    const newest = newestOf(history, 'order', key);
    const where = newest
      ? `${newest.state}${newest.park_class ? ` (${newest.park_class}: ${newest.reason})` : ''}, revision ${newest.revision}`
      : 'nowhere';
    if (judged.kind === 'unmappable') {
      if (newest?.state !== 'parked' || newest.park_class !== 'unmapped')
        wrong.push(`order ${order.order_no} can not be sent, and is ${where}`);
      continue;
    }
    if (judged.kind === 'refused') {
      const waits = waitsForPerson(history, 'customer', order.customer_id as string);
      if (newest?.state !== 'parked' && !waits)
        wrong.push(`order ${order.order_no} is refused by the service, and is ${where}`);
      continue;
    }
    wanted.add(order.customer_id as string);
    // Its customer may wait for a person; then so does it.
    const waits =
      waitsForPerson(history, 'order', key) || waitsForPerson(history, 'customer', order.customer_id as string);
    const bound = isBound(history, 'order', key);
    const isThere = newest ? newest.state === 'delivered' || newest.state === 'superseded' : bound;
    if (!isThere && !waits) wrong.push(`order ${order.order_no} is ${where}`);
    if (newest?.state === 'superseded' && !bound)
      wrong.push(`order ${order.order_no} is ${where}, and nothing is bound`);
  }
  return [...wrong, ...[...wanted].flatMap((key) => wrongCustomer(history, key))];
}

function wrongCustomer(history: History, key: string): string[] {
  const newest = newestOf(history, 'customer', key);
  if (!newest) return isBound(history, 'customer', key) ? [] : [`customer ${key} is nowhere`];
  if (['delivered', 'superseded'].includes(newest.state) || waitsForPerson(history, 'customer', key)) return [];
  return [`customer ${key} is ${newest.state} (${newest.reason})`];
}

export function serviceEqualsErp(history: History): string[] {
  const { erp, ledger } = history;
  const wrong: string[] = [];
  const used = new Set<string>();
  for (const order of erp.orders) {
    const judged = judgeOrder(order, erp);
    if (judged.kind !== 'good' || waitsForPerson(history, 'order', keyOf(order))) continue;
    if (waitsForPerson(history, 'customer', order.customer_id as string)) continue;
    used.add(order.customer_id as string);
    const held = heldOf(history, order);
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

/** The binding tells orders that share a number apart. */
export function heldOf({ erp, ledger, bindings }: History, order: Row): LedgerOrder[] {
  const held = ledger.orders.filter((one) => one.reference === order.order_no);
  if (erp.orders.filter(({ order_no }) => order_no === order.order_no).length === 1) return held;
  const bound = bindings.find((one) => one.entity === 'order' && one.source_key === keyOf(order));
  return held.filter((one) => one.order_id === bound?.service_id);
}

/** Removals of records that the ERP cancelled or deleted, as far as a person configured it, and nothing else. */
export function removalsAsConfigured(history: History): string[] {
  const { erp, ledger, removals } = history;
  const wrong: string[] = [];
  const removed = new Map<string, RemovalEffect>();
  for (const order of erp.orders)
    if (order.status === 'cancelled') removed.set(order.order_no as string, removals.onCancelled);
  for (const order of erp.deletedOrders) removed.set(order.order_no as string, removals.onDeleted);

  for (const { entity, id, reference } of ledger.deleted) {
    // A record that was cancelled first, and deleted later, had both.
    const wasWanted = [removed.get(reference ?? ''), removals.onCancelled].includes('delete');
    if (entity !== 'order' || !removed.has(reference ?? '') || !wasWanted)
      wrong.push(`${entity} ${id} (${reference}) was deleted at the service, and nobody wanted that`);
  }
  for (const order of [...erp.orders, ...erp.deletedOrders]) {
    const effect = removed.get(order.order_no as string);
    if (effect === undefined || effect === 'nothing' || isOutOfReach(history, order)) continue;
    for (const { record, order_id: id } of ledger.orders.filter(({ reference }) => reference === order.order_no)) {
      if (effect === 'delete')
        wrong.push(`order ${order.order_no} was removed in the ERP, and is at the service as ${id}`);
      else if (record.remark !== effect.patch.remark)
        wrong.push(`order ${order.order_no} was removed in the ERP, and its remark at the service is ${record.remark}`);
    }
  }
  return wrong;
}

/** Nobody can know any more that the service has it, or a person has to look first. */
function isOutOfReach(history: History, order: Row): boolean {
  const key = keyOf(order);
  if (waitsForPerson(history, 'order', key) || waitsForPerson(history, 'customer', order.customer_id as string))
    return true;
  const isKnown = [...history.messages, ...history.bindings].some(
    (row) => row.entity === 'order' && row.source_key === key,
  );
  if (isKnown) return false;
  return (history.past !== null && !wasExported(history, key)) || !wasSentByUs(history, order);
}

/** Somebody else may have sent it before we read it, and nobody can read it any more. */
function wasSentByUs({ ledger }: History, { order_no: reference }: Row): boolean {
  const ours = new Set(ledger.requests.map(({ request_id: id }) => id));
  return ledger.orders.some((one) => one.reference === reference && one.requests.some((id) => ours.has(id)));
}

function wasExported({ past, exportedAtMs }: History, key: string): boolean {
  if (!past || exportedAtMs === null) return false;
  const { at_ms: deliveredAtMs = exportedAtMs } =
    past.events.find((one) => one.entity === 'order' && one.source_key === key && one.new_state === 'delivered') ?? {};
  return deliveredAtMs < exportedAtMs;
}
