import { createHmac } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { doDeed } from './do-deed.js';
import { readErp } from './erp-desk.js';
import { judgeOrder } from './judge-erp.js';
import type { Stage } from './stage.js';
import { webhookSecret } from './stage-tables.js';
import { patienceMs, until } from './until.js';

interface Delivered {
  key: string;
  orderId: string;
}

/** An order that is there and will stay for a while, the first from a place on. */
async function deliveredOrder(stage: Stage, pick: number): Promise<Delivered | null> {
  let found: Delivered | null = null;
  await until(
    patienceMs,
    async () => {
      const rows = await readErp(stage.erp);
      const ids = new Map(stage.sandbox.ledger().orders.map((order) => [order.reference, order.order_id]));
      const bound = await stage.store.rows<{ source_key: string }>(
        "SELECT source_key FROM binding WHERE entity='order'",
      );
      const keys = new Set(bound.map(({ source_key: key }) => key));
      const there = rows.orders.filter((one) => keys.has(`${one.id}`) && judgeOrder(one, rows).kind === 'good');
      const order = there[pick % Math.max(there.length, 1)];
      const orderId = ids.get(order?.order_no ?? null);
      if (order && orderId !== undefined) found = { key: `${order.id}`, orderId };
      return found !== null;
    },
    50,
  );
  return found;
}

/** In the service's words, which name neither the event nor its time, to any daemon that listens. @returns whether one took it */
async function announce(stage: Stage, orderId: string): Promise<boolean> {
  const body = JSON.stringify({ type: 'order.status_changed', data: { order_id: orderId } });
  const signature = createHmac('sha256', webhookSecret).update(body).digest('hex');
  const headers = { 'content-type': 'application/json', 'x-signature': signature };
  return until(
    patienceMs,
    async () => {
      for (const port of portsOf(stage)) {
        const sentAtMs = Date.now();
        const answer = await fetch(`http://127.0.0.1:${port}/webhooks`, {
          method: 'POST',
          body,
          headers,
          signal: AbortSignal.timeout(2_000),
        }).catch(() => null);
        await answer?.arrayBuffer().catch(() => undefined);
        if (answer?.ok) stage.announced.push({ orderId, sentAtMs });
        if (answer?.ok) return true;
      }
      return false;
    },
    100,
  );
}

/** The ports of daemons that have not ended. */
function portsOf({ crew }: Stage): number[] {
  return crew.shifts
    .filter(({ end }) => end === null)
    .flatMap(({ output }) => [...output.matchAll(/"Listening for webhooks".*"port":(\d+)|"port":(\d+).*"Listening/g)])
    .map(([, one, other]) => Number(one ?? other));
}

function readsOf({ sandbox }: Stage, orderId: string) {
  return sandbox.ledger().requests.filter(({ method, path }) => method === 'GET' && path === `/v1/orders/${orderId}`);
}

/** Twice the same words, for two changes: the second event is no repetition of the first, which is over by then. */
export async function serviceAnnounces(stage: Stage, pick: number): Promise<void> {
  const order = await deliveredOrder(stage, pick);
  if (!order) return;
  const { orderId } = order;
  // Its first reading is due anyway.
  await until(patienceMs, () => readsOf(stage, orderId).length > 0, 50);
  for (const status of ['packed', 'shipped']) {
    const before = readsOf(stage, orderId).length;
    if (!stage.sandbox.ledger().orders.some((one) => one.order_id === orderId)) return;
    stage.sandbox.setOrder(orderId, { status });
    if (!(await announce(stage, orderId))) return;
    const isOver = async () => {
      const open = await stage.store.rows("SELECT event_id FROM webhook_event WHERE state='pending'");
      return open.length === 0 && readsOf(stage, orderId).length > before;
    };
    if (status === 'shipped') stage.coverage.count('fault:service-announces');
    else await until(patienceMs, isOver, 50);
  }
}

/** The time for which the answer to a read is under way: a capture and an update fit in between. */
const staleMs = 520;

/** Again and again, until a read was answered with what was true before an update that was acknowledged meanwhile. */
export async function readStale(stage: Stage, pick: number): Promise<void> {
  const { erp, sandbox, coverage, nextOrder } = stage;
  for (let tries = 0; tries < 6; tries++) {
    const order = await deliveredOrder(stage, pick + 7 * tries);
    if (!order) return;
    const path = `/v1/orders/${order.orderId}`;
    // Read while nothing happens first, so that no other reading of it is due.
    await until(patienceMs, () => readsOf(stage, order.orderId).length > 0, 50);
    const known = sandbox.ledger().requests.length;
    sandbox.addFaults([{ kind: 'delay', ms: staleMs, match: { method: 'GET', path }, times: 1 }]);
    await doDeed(erp, { kind: 'edit-order', pick: 0, qty: 41 + tries, key: order.key }, nextOrder);
    // A pass begins with each full second, and its update follows at once.
    await sleep((2_000 - 130 - (Date.now() % 1_000)) % 1_000);
    await announce(stage, order.orderId);
    await sleep(staleMs + 400);
    const since = sandbox.ledger().requests.slice(known);
    const read = since.find((one) => one.method === 'GET' && one.path === path && one.fault === 'delay');
    const isStale = since.some(
      (one) =>
        one.method === 'PATCH' &&
        one.path === path &&
        one.status === 200 &&
        read !== undefined &&
        one.at_ms > read.at_ms &&
        (one.answered_at_ms ?? 0) < (read.answered_at_ms ?? 0),
    );
    if (!isStale) continue;
    coverage.count('fault:service-stale-read');
    return;
  }
}
