import { createKey } from '../../src/outbound/outbox/idempotency-key.js';
import { setQuantity } from './do-deed.js';
import { firstMixedCustomer, firstMixedOrder, keyOf, type Row, readErp, wallTime } from './erp-desk.js';
import { insertOrder, type NewOrder } from './erp-rows.js';
import { type MixUpKind, mixUps } from './plan.js';
import { installationOf } from './settings-of-run.js';
import { type Stage, token } from './stage.js';
import { patienceMs, until } from './until.js';

export interface Newest {
  state: string;
  park_class: string | null;
  reason: string | null;
  service_id: string | null;
}

/** Ids for the rows of a mix-up, which no other one uses. */
export function idsFor(kind: MixUpKind): { order: number; customer: number } {
  const place = 10 * mixUps.indexOf(kind) + 1;
  return { order: firstMixedOrder + place, customer: firstMixedCustomer + place };
}

export async function enterOrder({ erp }: Stage, order: Omit<NewOrder, 'time' | 'remark'>): Promise<void> {
  await erp.run(insertOrder(erp, { ...order, remark: null, time: wallTime(Date.now()) }));
}

export async function orderRow({ erp }: Stage, id: number): Promise<Row> {
  const { orders } = await readErp(erp);
  return orders.find((order) => Number(order.id) === id) as Row;
}

export async function editOrder({ erp }: Stage, id: number, qty: number): Promise<void> {
  const rows = await readErp(erp);
  const order = rows.orders.find((one) => Number(one.id) === id) as Row;
  await erp.run(setQuantity(rows, order, qty, wallTime(Date.now())));
}

/** The newest message of a record, as the store has it. */
export async function newestMessage(
  { store }: Stage,
  entity: 'customer' | 'order',
  key: string,
  sinceMs = 0,
): Promise<Newest | undefined> {
  const [newest] = await store.rows<Newest>(
    `SELECT state, park_class, reason_code, reason_data, service_id FROM outbox_message
      WHERE entity='${entity}' AND source_key='${key}' AND captured_at>=${sinceMs} ORDER BY revision DESC LIMIT 1`,
  );
  return newest;
}

/** @param sinceMs only what was captured after that counts */
export function becomesDelivered(
  stage: Stage,
  entity: 'customer' | 'order',
  key: string,
  sinceMs = 0,
): Promise<boolean> {
  return until(patienceMs, async () => (await newestMessage(stage, entity, key, sinceMs))?.state === 'delivered', 50);
}

/** @param why what the reason says. @returns at once where it is delivered instead */
export async function becomesConflict(
  stage: Stage,
  entity: 'customer' | 'order',
  key: string,
  why: RegExp,
): Promise<boolean> {
  let isConflict = false;
  const isDecided = async () => {
    const newest = await newestMessage(stage, entity, key);
    isConflict = newest?.park_class === 'conflict' && why.test(newest.reason ?? '');
    return isConflict || newest?.state === 'delivered';
  };
  await until(patienceMs, isDecided, 50);
  return isConflict;
}

/** Enters orders and waits until they are delivered, each edited once. */
export async function sendAndEdit(
  stage: Stage,
  orders: readonly Omit<NewOrder, 'time' | 'remark'>[],
): Promise<boolean> {
  for (const order of orders) await enterOrder(stage, order);
  for (const { id } of orders)
    if (!(await becomesDelivered(stage, 'order', keyOf(await orderRow(stage, id))))) return false;
  const editedAt = Date.now();
  for (const { id } of orders) await editOrder(stage, id, 7);
  for (const { id } of orders)
    if (!(await becomesDelivered(stage, 'order', keyOf(await orderRow(stage, id)), editedAt))) return false;
  return true;
}

export function createKeyOf({ plan }: Stage, sourceKey: string, generation = 0): string {
  return createKey(installationOf(plan), 'order', sourceKey, generation);
}

/** Somebody enters an order at the service, not through the connector. @returns its id; null where the service never took it */
export async function enterAtService(stage: Stage, body: object, key: string): Promise<string | null> {
  const { sandbox, foreign } = stage;
  foreign.keys.add(key);
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json', 'Idempotency-Key': key };
  const find = () => sandbox.ledger().orders.find((order) => order.key === key)?.order_id;
  // It meets the same faults as ours, and the same limit.
  const isThere = async () => {
    const request = { method: 'POST', headers, body: JSON.stringify(body), signal: AbortSignal.timeout(500) };
    await fetch(`${sandbox.url}/v1/orders`, request)
      .then((answer) => answer.arrayBuffer())
      .catch(() => undefined);
    return find() !== undefined;
  };
  return (await until(patienceMs, isThere, 100)) ? (find() as string) : null;
}
