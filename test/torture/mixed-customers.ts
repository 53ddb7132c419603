import { wallTime } from './erp-desk.js';
import { insertCustomer } from './erp-rows.js';
import { becomesDelivered, enterOrder, idsFor, newestMessage } from './mixed-records.js';
import type { MixUp } from './plan.js';
import type { Stage } from './stage.js';
import { patienceMs, until } from './until.js';

const lines = [{ product: 6, qty: 1 }];

/** Two customers have one code, entered one after the other or at once; then one of them gets a code of its own. */
export async function twinCustomers(stage: Stage, { form }: MixUp): Promise<boolean> {
  const { erp } = stage;
  const { customer: first, order } = idsFor('twin-customers');
  const second = first + 1;
  const enter = async (id: number) => {
    await erp.run([insertCustomer(id, `Z${first}`, `Twin ${id}`, wallTime(Date.now()))]);
    await enterOrder(stage, { id: order + id - first, number: `CODE-${id}`, customer: id, lines });
  };
  await enter(first);
  if (form % 2 === 0 && !(await becomesDelivered(stage, 'customer', `${first}`))) return false;
  await enter(second);
  let refused: number | undefined;
  const isRefused = async () => {
    for (const id of [first, second]) {
      const newest = await newestMessage(stage, 'customer', `${id}`);
      if (newest?.park_class === 'refused' && /have one code/.test(newest.reason ?? '')) refused = id;
    }
    return refused !== undefined;
  };
  // Corrected too soon, it may be the one that has the code at the service by now: nobody could say which order is whose.
  const came = await until(5 * patienceMs, isRefused, 50);
  const corrected = refused ?? second;
  const now = wallTime(Date.now());
  await erp.run([
    ['UPDATE customers SET customer_no=?, updated_at=? WHERE id=?', `Z${second}`, now, corrected],
    ['UPDATE sales_orders SET updated_at=? WHERE customer_id=?', now, corrected],
  ]);
  return came;
}

/**
 * A customer is deleted, and another one takes over its code: neither its orders nor new ones go to the other record. Then
 * somebody puts the code right.
 */
export async function swapCode(stage: Stage): Promise<boolean> {
  const { erp, sandbox, breaches } = stage;
  const { customer: gone, order: last } = idsFor('swapped-code');
  const heir = gone + 1;
  const codes = { gone: `Z${gone}`, heir: `Z${heir}` };
  const numbers = [1, 2].map((n) => `HEIR-${last + n}`) as [string, string];
  for (const [id, code] of [
    [gone, codes.gone],
    [heir, codes.heir],
  ] as const)
    await erp.run([insertCustomer(id, code, `Customer ${id}`, wallTime(Date.now()))]);
  await enterOrder(stage, { id: last, number: `GONE-${last}`, customer: gone, lines });
  await enterOrder(stage, { id: last + 1, number: numbers[0], customer: heir, lines });
  for (const id of [last, last + 1]) if (!(await becomesDelivered(stage, 'order', `${id}`))) return false;

  let now = wallTime(Date.now());
  await erp.run([
    ["UPDATE sales_orders SET status='done', updated_at=? WHERE id=?", now, last],
    ['DELETE FROM customers WHERE id=?', gone],
    ['UPDATE customers SET customer_no=?, updated_at=? WHERE id=?', codes.gone, now, heir],
    ["UPDATE sales_orders SET remark='by phone', updated_at=? WHERE id=?", now, last + 1],
  ]);
  await enterOrder(stage, { id: last + 2, number: numbers[1], customer: heir, lines });
  const seen = new Set<string>();
  let isHeld = false;
  const isStopped = async () => {
    for (const { order_id: id, reference, record } of sandbox.ledger().orders)
      if (numbers.includes(reference ?? '') && record.customer_code !== codes.heir && !seen.has(id)) {
        seen.add(id);
        breaches.push(`order ${reference} of customer ${codes.heir} went to customer ${record.customer_code} as ${id}`);
      }
    const states = await Promise.all([1, 2].map((n) => newestMessage(stage, 'order', `${last + n}`)));
    isHeld = states.every((newest) => newest?.park_class === 'held' && /another customer/.test(newest.reason ?? ''));
    return isHeld || seen.size > 0;
  };
  await until(patienceMs, isStopped, 25);
  now = wallTime(Date.now());
  await erp.run([
    ['UPDATE customers SET customer_no=?, updated_at=? WHERE id=?', codes.heir, now, heir],
    ['UPDATE sales_orders SET updated_at=? WHERE customer_id=?', now, heir],
  ]);
  return isHeld;
}
