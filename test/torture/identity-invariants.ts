import { keyOf } from './erp-desk.js';
import type { AttemptRow, History, MessageRow } from './history.js';
import { livesOf } from './lives.js';

/** One record of the ERP, one record of the service: bound, made and changed for that one alone. */
export function oneRecordOneIdentity(history: History): string[] {
  return [...history.breaches, ...boundTwice(history), ...boundToAnother(history), ...touchedForTwo(history)];
}

function boundTwice({ bindings }: History): string[] {
  const keys = new Map<string, string[]>();
  for (const { entity, source_key: key, service_id: id } of bindings)
    keys.set(`${entity} ${id}`, [...(keys.get(`${entity} ${id}`) ?? []), key]);
  return [...keys].flatMap(([id, bound]) =>
    bound.length > 1 ? [`${id} of the service is bound to ${bound.join(' and ')}`] : [],
  );
}

/** Compared by its number and its customer, as the ERP and the service show them. */
function boundToAnother({ erp, ledger, bindings }: History): string[] {
  const rows = new Map([...erp.deletedOrders, ...erp.orders].map((order) => [keyOf(order), order]));
  const held = new Map(ledger.orders.map((order) => [order.order_id, order]));
  const codes = new Map(
    bindings.flatMap(({ entity, source_key: key, service_id: id }) => (entity === 'customer' ? [[key, id]] : [])),
  );
  return bindings.flatMap(({ entity, source_key: key, service_id: id }) => {
    const row = rows.get(key);
    const order = held.get(id);
    if (entity !== 'order' || !row || !order) return [];
    const code = codes.get(row.customer_id ?? '');
    return [
      ...(order.reference === row.order_no ? [] : [`order ${key} (${row.order_no}) is bound to ${order.reference}`]),
      ...(code === undefined || order.record.customer_code === code
        ? []
        : [`order ${key} is at customer ${order.record.customer_code} of the service, and its own is ${code}`]),
    ];
  });
}

/** The service's deeds for a record are for one record of ours, as far as the attempts on record tell. */
function touchedForTwo(history: History): string[] {
  const { ledger } = history;
  const wanted = new Map<string, string>();
  for (const { attempts, messages } of livesOf(history)) {
    const byId = new Map(messages.map((message) => [message.id, message]));
    for (const attempt of attempts) {
      const message = byId.get(attempt.message_id as number);
      if (message && isWrite(attempt)) wanted.set(attempt.request_id as string, nameOf(message));
    }
  }
  const touching = new Map<string, string[]>();
  for (const { order_id: id, requests } of ledger.orders) touching.set(`order ${id}`, [...requests]);
  for (const { customer_code: id, requests } of ledger.customers) touching.set(`customer ${id}`, [...requests]);
  return [...touching].flatMap(([record, requests]) => {
    const ours = new Set(requests.flatMap((id) => wanted.get(id) ?? []));
    return ours.size > 1 ? [`${record} of the service was written for ${[...ours].join(' and for ')}`] : [];
  });
}

function isWrite({ purpose, request_id: id }: AttemptRow): boolean {
  return id !== null && purpose !== 'look_up';
}

/** A key that was respelled is one key still. */
function nameOf({ entity, source_key: key }: MessageRow): string {
  return `${entity} ${key.trimEnd().toLowerCase()}`;
}
