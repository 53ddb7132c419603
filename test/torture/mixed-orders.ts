import { type Row, readErp } from './erp-desk.js';
import { totalCents } from './erp-rows.js';
import { judgeOrder, type OrderBody } from './judge-erp.js';
import {
  becomesConflict,
  becomesDelivered,
  createKeyOf,
  editOrder,
  enterAtService,
  enterOrder,
  idsFor,
  newestMessage,
  orderRow,
} from './mixed-records.js';
import type { MixUp } from './plan.js';
import type { Stage } from './stage.js';
import { patienceMs, until } from './until.js';

const lines = [{ product: 4, qty: 2 }];

/**
 * The service says that it has something else under the key of an order, and is asked for the order by its number, which another
 * one carries: an order of ours or, in every second seed, one that others entered. It has another customer or another total, or is
 * the same but for the key.
 */
export async function twinOrders(stage: Stage, { form }: MixUp): Promise<boolean> {
  const { order: first } = idsFor('twin-orders');
  const second = first + 1;
  const number = `TWIN-${first}`;
  const isOurs = form % 2 === 0;
  const differs = Math.floor(form / 2) % 2 === 0 ? 'total' : 'customer';
  const firstLines = isOurs || differs === 'customer' ? lines : [{ product: 4, qty: 5 }];
  const customer = !isOurs && differs === 'customer' ? 2 : 1;
  if (isOurs) {
    await enterOrder(stage, { id: first, number, customer, lines: firstLines });
    if (!(await becomesDelivered(stage, 'order', `${first}`))) return false;
  } else {
    const id = await enterTheirs(stage, number, customer, firstLines);
    if (id === null) return false;
  }
  const conflict = { error: { code: 'idempotency_key_reused', message: 'This idempotency key was used already' } };
  const match = { key: createKeyOf(stage, `${second}`) };
  stage.sandbox.addFaults([{ kind: 'status', status: 422, body: conflict, match, times: 1 }]);
  await enterOrder(stage, { id: second, number, customer: isOurs && differs === 'customer' ? 2 : 1, lines });
  const isAsked = await becomesConflict(stage, 'order', `${second}`, /look-up finds/);
  // Whatever the look-up made of it, a change shows which record it is taken for.
  await editOrder(stage, second, 3);
  stage.foreign.records.add(`order ${second}`);
  return isAsked;
}

async function enterTheirs(stage: Stage, note: string, customer: number, some: typeof lines): Promise<string | null> {
  const { erp, sandbox, foreign } = stage;
  const { customers } = await readErp(erp);
  const code = customers.find(({ id }) => Number(id) === customer)?.customer_no;
  const isThere = () => sandbox.ledger().customers.some(({ customer_code }) => customer_code === code);
  if (!(await until(patienceMs, isThere, 50))) return null;
  const items = some.map(({ qty }) => ({ sku: 'SKU-0004', qty, price: totalCents(some) / qty }));
  const id = await enterAtService(stage, { customer_code: code, note, items }, `entered-by-others-${note}`);
  if (id !== null) foreign.serviceIds.add(id);
  return id;
}

/** The second of two orders is acknowledged with the id of the first: it was taken, or it was not. */
export async function answerWithTakenId(stage: Stage, { form }: MixUp): Promise<boolean> {
  const { order: first } = idsFor('id-taken');
  const second = first + 1;
  await enterOrder(stage, { id: first, number: `TAKEN-${first}`, customer: 1, lines });
  if (!(await becomesDelivered(stage, 'order', `${first}`))) return false;
  const taken = (await newestMessage(stage, 'order', `${first}`))?.service_id;
  const body = { order_id: taken, status: 'confirmed', total: totalCents(lines), created_at: '2026-06-01T10:00:00Z' };
  const match = { key: createKeyOf(stage, `${second}`) };
  const effect = form % 2 === 0 ? 'none' : 'done';
  stage.sandbox.addFaults([{ kind: 'status', status: 201, body, effect, match, times: 1 }]);
  await enterOrder(stage, { id: second, number: `TAKEN-${second}`, customer: 1, lines });
  const isRefused = await becomesConflict(stage, 'order', `${second}`, new RegExp(`${taken}`));
  await editOrder(stage, second, 3);
  stage.foreign.records.add(`order ${second}`);
  return isRefused;
}

/** An order never arrives. A person enters it at the service by hand, says so, and has all of it sent once more. */
export async function forceAfterResolve(stage: Stage): Promise<boolean> {
  const { sandbox, operator, resolved } = stage;
  const { order: id } = idsFor('resolve-then-force');
  const key = `${id}`;
  sandbox.addFaults([{ kind: 'reset-before', match: { key: createKeyOf(stage, key) } }]);
  await enterOrder(stage, { id, number: `HAND-${id}`, customer: 1, lines });
  const state = async () => (await newestMessage(stage, 'order', key))?.state;
  if (!(await until(patienceMs, async () => ['in_doubt', 'parked'].includes((await state()) ?? ''), 20))) return false;
  const serviceId = await enterAtService(stage, await bodyOf(stage, id), `entered-by-hand-${id}`);
  if (serviceId === null) return false;
  resolved.set(`order ${key}`, 'delivered');
  const said = ['--delivered', '--unchecked', '--service-id', serviceId, '--reason', 'entered it by hand', '--yes'];
  const isSaid = async () => {
    // A clock that is set may have made it one whose key is too old.
    const isParked = (await state()) === 'parked';
    const chosen = ['--entity', 'order', '--key', key, '--state', isParked ? 'parked' : 'in_doubt'];
    await operator.run('outbox', 'resolve', ...chosen, ...said);
    return (await state()) === 'delivered';
  };
  if (!(await until(patienceMs, isSaid, 100))) return false;
  const { code } = await operator.insist('resync', 'orders', '--key', key, '--force');
  return code === 0;
}

async function bodyOf(stage: Stage, id: number): Promise<OrderBody> {
  const judged = judgeOrder((await orderRow(stage, id)) as Row, await readErp(stage.erp));
  if (judged.kind !== 'good') throw new Error(`Order ${id} is ${judged.kind}.`);
  return judged.body;
}
