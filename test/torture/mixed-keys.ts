import { setTimeout as sleep } from 'node:timers/promises';
import { wallTime } from './erp-desk.js';
import { becomesDelivered, enterOrder, idsFor, sendAndEdit } from './mixed-records.js';
import type { MixUp, MixUpKind } from './plan.js';
import type { Stage } from './stage.js';

const lines = [{ product: 8, qty: 1 }];

/** Long enough for two sweeps to miss a record, and for what they make of that to be sent. */
async function outliveSweeps({ plan }: Stage): Promise<void> {
  await sleep(plan.sweeps ? plan.sweepSeconds * 3_000 : 1_500);
}

/** Spelled with other letters, or a space at its end where the database ignores it. */
export async function respellKey(stage: Stage, { form }: MixUp): Promise<boolean> {
  const { erp, plan, respelled } = stage;
  const { order: id } = idsFor('respelled-key');
  const number = `RESPELLED-${id}`;
  await enterOrder(stage, { id, number, customer: 1, lines, key: `Kt-${id}` });
  if (!(await becomesDelivered(stage, 'order', `Kt-${id}`))) return false;
  respelled.add(number);
  const key = form % 2 === 1 && plan.store === 'mariadb' ? `Kt-${id} ` : `KT-${id}`;
  await erp.run([['UPDATE sales_orders SET order_key=?, updated_at=? WHERE id=?', key, wallTime(Date.now()), id]]);
  await outliveSweeps(stage);
  return true;
}

/** More than the store has room for; both begin alike. */
export async function sendLongKeys(stage: Stage): Promise<boolean> {
  return sendTwo(stage, 'long-key', ['1', '2'].map((end) => `${'long-'.repeat(60)}${end}`) as [string, string]);
}

/** Whoever takes them for doubles takes them for one. */
export async function sendWideKeys(stage: Stage): Promise<boolean> {
  return sendTwo(stage, 'wide-key', ['9223372036854770001', '9223372036854770002']);
}

async function sendTwo(stage: Stage, kind: MixUpKind, keys: readonly [string, string]): Promise<boolean> {
  const { order: first } = idsFor(kind);
  const orders = keys.map((key, index) => ({
    id: first + index,
    number: `KEY-${first + index}`,
    customer: 1,
    lines,
    key,
  }));
  if (!(await sendAndEdit(stage, orders))) return false;
  await outliveSweeps(stage);
  return true;
}
