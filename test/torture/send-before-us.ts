import { sha256 } from '../../src/outbound/outbox/content-hash.js';
import { createKey } from '../../src/outbound/outbox/idempotency-key.js';
import { doDeed } from './do-deed.js';
import { wallTime } from './erp-desk.js';
import { installationOf } from './settings-of-run.js';
import { type Stage, token } from './stage.js';
import { patienceMs, until } from './until.js';

/**
 * A forgotten copy of the connector sends an order before ours does, under the very same key, as an old state of the ERP has
 * it. Ours meets its own key with other bytes, and the order changes before anybody has looked.
 */
export async function sendBeforeUs(stage: Stage): Promise<void> {
  const { plan, erp, sandbox, store, coverage, foreign, nextOrder } = stage;
  // A refusal of an unknown customer might be repeated to us.
  const customer = () => sandbox.ledger().customers[0]?.customer_code;
  if (!(await until(patienceMs, () => customer() !== undefined, 50))) return;
  const id = nextOrder();
  const note = `A-2026-${id}`;
  const key = createKey(installationOf(plan), 'order', `${id}`, 0);
  const items = [{ sku: 'SKU-0001', qty: 1, price: 1_250 }];
  const body = JSON.stringify({ customer_code: customer(), items, note });
  foreign.bodies.add(sha256(body));
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json', 'Idempotency-Key': key };
  // It meets the same faults as ours, and the same limit.
  const isThere = async () => {
    await fetch(`${sandbox.url}/v1/orders`, { method: 'POST', headers, body, signal: AbortSignal.timeout(500) })
      .then((answer) => answer.arrayBuffer())
      .catch(() => undefined);
    return sandbox.ledger().orders.some(({ reference }) => reference === note);
  };
  if (!(await until(patienceMs, isThere, 100))) return;

  await doDeed(erp, { kind: 'new-order', lines: [{ product: 3, qty: 2 }], pick: plan.seed }, () => id);
  const newest = async () =>
    (
      await store.rows<{ revision: number; park_class: string | null }>(
        `SELECT revision, park_class FROM outbox_message WHERE entity='order' AND source_key='${id}' ORDER BY revision DESC LIMIT 1`,
      )
    )[0];
  if (await until(patienceMs, async () => (await newest())?.park_class === 'conflict', 50)) {
    coverage.count('fault:service-sent-before-us');
    await erp.run([["UPDATE sales_orders SET remark='changed', updated_at=? WHERE id=?", wallTime(Date.now()), id]]);
    await until(5_000, async () => Number((await newest())?.revision) > 1, 50);
  }
  foreign.records.add(`order ${id}`);
}
