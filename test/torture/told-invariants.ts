import type { Row } from './erp-desk.js';
import type { History } from './history.js';
import { judgeOrder } from './judge-erp.js';
import { heldOf, waitsForPerson } from './record-invariants.js';

/** An event that was taken brings a read that began after it, unless the order is no more. */
export function announcedIsRead({ announced, ledger }: History): string[] {
  const gone = new Set(ledger.deleted.map(({ id }) => id));
  return announced.flatMap(({ orderId, sentAtMs }) => {
    const isRead = ledger.requests.some(
      ({ method, path, status, received_at_ms: atMs }) =>
        method === 'GET' && path === `/v1/orders/${orderId}` && status === 200 && atMs >= sentAtMs,
    );
    return isRead || gone.has(orderId)
      ? []
      : [`order ${orderId} was announced at ${sentAtMs}, and not read after that`];
  });
}

/** The ERP is told the service's last words about an order. */
export function writtenBackAsAcknowledged(history: History): string[] {
  const { writtenBack, erp, ledger, bindings } = history;
  if (writtenBack === null) return [];
  const bound = new Set(bindings.filter(({ entity }) => entity === 'order').map(({ source_key: key }) => key));
  const rows = new Map(writtenBack.map((row) => [row.order_key, row]));
  return erp.orders.flatMap((order) => {
    const key = `${order.id}`;
    const [held] = heldOf(history, order);
    if (!held || !bound.has(key) || judgeOrder(order, erp).kind !== 'good') return [];
    if (waitsForPerson(history, 'order', key) || history.resolved.has(`order ${key}`)) return [];
    const row = rows.get(key);
    if (!row) return [`order ${order.order_no} was delivered, and the ERP is told nothing of it`];
    const isMisread = held.requests.some((id) =>
      ledger.requests.some(({ request_id: one, fault }) => one === id && fault === 'wrong-total'),
    );
    const cents = Math.round(Number(row.service_total) * 100);
    const told = {
      order_number: row.order_number === order.order_no,
      service_order_id: row.service_order_id === held.order_id,
      service_status: row.service_status === held.status,
      service_total: row.service_total !== null && Math.abs(cents - held.total) <= (isMisread ? 1 : 0),
      parked_class: row.parked_class === null,
    } satisfies Partial<Record<keyof Row, boolean>>;
    return Object.entries(told).flatMap(([column, isTrue]) =>
      isTrue
        ? []
        : [
            `order ${order.order_no}: the ERP is told the ${column} ${row[column]}; at the service it is ${JSON.stringify({ ...held, requests: undefined })}`,
          ],
    );
  });
}

/** The names of a forgotten customer stand nowhere in the store. */
export function forgottenIsGone({ forgotten, texts }: History): string[] {
  const store = texts.find(({ where }) => where === 'the store')?.text ?? '';
  return forgotten.flatMap((name) => (store.includes(name) ? [`the store holds ${name}, which was forgotten`] : []));
}

/** An open message is needed yet, and a parked one waits for a person, however long that takes. */
export function prunesOnlyWhatIsOver({ pruned }: History): string[] {
  return pruned.flatMap(({ entity, source_key: key, revision, state }) =>
    ['delivered', 'superseded', 'discarded'].includes(state)
      ? []
      : [`${entity} ${key}, revision ${revision}, was pruned while it was ${state}`],
  );
}
