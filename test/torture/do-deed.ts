import {
  type ErpDesk,
  type ErpRows,
  firstMixedOrder,
  type Row,
  readErp,
  type Statement,
  wallTime,
} from './erp-desk.js';
import { decimal, insertOrder } from './erp-rows.js';
import { judgeOrder, tooLongText } from './judge-erp.js';
import type { Deed } from './plan.js';
import { until } from './until.js';

/**
 * Does what a deed says, and names the record that it touched; null when there is nothing (any more) to do it to.
 * @param isDone whether what became of an order since that time has an outcome, for deeds of several steps
 */
export async function doDeed(
  desk: ErpDesk,
  deed: Deed,
  nextId: () => number,
  isDone: (order: string, sinceMs: number) => Promise<boolean> = async () => false,
): Promise<string | null> {
  const rows = await readErp(desk);
  const live = rows.orders.filter(
    ({ id, status, currency }) => Number(id) < firstMixedOrder && status === 'confirmed' && currency === 'EUR',
  );
  const good = live.filter((order) => judgeOrder(order, rows).kind === 'good');
  const customers = rows.customers.filter((customer) => live.some((order) => order.customer_id === customer.id));
  const choose = <T>(list: readonly T[], pick: number): T | undefined => list[pick % Math.max(list.length, 1)];
  const now = wallTime(Date.now());

  switch (deed.kind) {
    case 'new-order':
    case 'late-commit':
    case 'refused-order': {
      const customer = choose(customers, deed.pick);
      if (!customer) return null;
      const id = nextId();
      await enterOrder(desk, deed, id, Number(customer.id));
      return `order ${id}`;
    }
    case 'edit-order':
    case 'silent-edit': {
      const key = deed.kind === 'edit-order' ? deed.key : undefined;
      const order = key === undefined ? choose(good, deed.pick) : good.find(({ id }) => `${id}` === key);
      // Somebody else may have deleted it between the read of the orders and that of the lines.
      if (!order || !rows.lines.some((line) => line.order_id === order.id)) return null;
      // A remark comes, and goes again.
      const remark = order.remark === null ? 'by phone' : null;
      const edits = setQuantity(rows, order, deed.qty, deed.kind === 'edit-order' ? now : null);
      if (deed.qty % 2 === 0) edits.push(['UPDATE sales_orders SET remark=? WHERE id=?', remark, Number(order.id)]);
      await desk.run(edits);
      return `order ${order.id}`;
    }
    case 'edit-orders': {
      const from = deed.pick % Math.max(good.length, 1);
      const chosen = good
        .slice(from)
        .concat(good.slice(0, from))
        .filter((order) => rows.lines.some((line) => line.order_id === order.id))
        .slice(0, deed.count);
      if (chosen.length === 0) return null;
      await desk.run(chosen.flatMap((order) => setQuantity(rows, order, deed.qty, now)));
      return `order ${chosen[0]?.id}`;
    }
    case 'there-and-back': {
      const order = choose(good, deed.pick);
      if (!order) return null;
      return (await changeThereAndBack(desk, deed, order, isDone)) ? `order ${order.id}` : null;
    }
    case 'edit-customer': {
      const customer =
        deed.key === undefined ? choose(customers, deed.pick) : customers.find(({ id }) => id === deed.key);
      if (!customer) return null;
      await desk.run([['UPDATE customers SET name=?, updated_at=? WHERE id=?', deed.name, now, Number(customer.id)]]);
      return `customer ${customer.id}`;
    }
    case 'cancel-orders': {
      const from = deed.pick % Math.max(good.length, 1);
      const chosen = good.slice(from, from + deed.count);
      if (chosen.length === 0) return null;
      await desk.run(
        chosen.map(
          ({ id }): Statement => [
            "UPDATE sales_orders SET status='cancelled', updated_at=? WHERE id=?",
            now,
            Number(id),
          ],
        ),
      );
      return `order ${chosen[0]?.id}`;
    }
    case 'delete-order': {
      const order = choose(good, deed.pick);
      if (!order) return null;
      const id = Number(order.id);
      await desk.run([
        ['DELETE FROM sales_order_lines WHERE order_id=?', id],
        ['DELETE FROM sales_orders WHERE id=?', id],
      ]);
      desk.deletedOrders.push(order);
      return `order ${order.id}`;
    }
    case 'long-order': {
      const customer = choose(customers, deed.pick);
      if (!customer) return null;
      const id = nextId();
      const line = (index: number) => `(${10_000_000 + id * 1_000 + index},${id},${index + 1},1,'-1.500','12.50')`;
      const lines = Array.from({ length: 800 }, (_, index) => line(index));
      await desk.run([
        ...insertOrder(desk, {
          id,
          number: `A-2026-${id}`,
          customer: Number(customer.id),
          remark: null,
          lines: [],
          time: now,
        }),
        [`INSERT INTO sales_order_lines VALUES ${lines.join(',')}`],
      ]);
      return `order ${id}`;
    }
    case 'long-code': {
      const id = nextId();
      const code = `K-${id}-`.padEnd(600, 'x');
      await desk.run([
        [
          'INSERT INTO customers VALUES (?,?,?,?,?,?,?,?,?,?)',
          id,
          code,
          'Long',
          null,
          null,
          null,
          null,
          'DE',
          now,
          now,
        ],
        ...insertOrder(desk, {
          id,
          number: `A-2026-${id}`,
          customer: id,
          remark: null,
          lines: [{ product: 1, qty: 1 }],
          time: now,
        }),
      ]);
      return `order ${id}`;
    }
    // It takes the store to know which, and when.
    case 'vanish-order':
      return null;
    case 'correct-refused-order': {
      const order = live.find((one) => one.remark === tooLongText);
      if (!order) return null;
      await desk.run([['UPDATE sales_orders SET remark=?, updated_at=? WHERE id=?', 'short', now, Number(order.id)]]);
      return `order ${order.id}`;
    }
    case 'correct-bad-row': {
      const order = live.find((one) => judgeOrder(one, rows).kind === 'unmappable' && one.customer_id !== null);
      const customer = customers[0];
      if (!order || !customer) return null;
      const id = Number(order.id);
      await desk.run([
        ['DELETE FROM sales_order_lines WHERE order_id=?', id],
        ['INSERT INTO sales_order_lines VALUES (?,?,?,?,?,?)', 5_000_000 + id, id, 1, 1, '2.000', '12.50'],
        ["UPDATE sales_orders SET total='25.00', customer_id=?, updated_at=? WHERE id=?", Number(customer.id), now, id],
      ]);
      return `order ${order.id}`;
    }
  }
}

async function enterOrder(
  desk: ErpDesk,
  deed: Extract<Deed, { kind: 'new-order' | 'late-commit' | 'refused-order' }>,
  id: number,
  customer: number,
): Promise<void> {
  const lateMs = deed.kind === 'late-commit' ? deed.lateMs : 0;
  const lines = deed.kind === 'refused-order' ? [{ product: 1, qty: 1 }] : deed.lines;
  const time = wallTime(Date.now() - lateMs);
  const remark = deed.kind === 'refused-order' ? tooLongText : null;
  const order = { id, number: `A-2026-${id}`, customer, remark, lines, time };
  await desk.run(insertOrder(desk, order), Math.min(lateMs, 1_000));
}

/** @returns false where the order is gone meanwhile */
async function changeThereAndBack(
  desk: ErpDesk,
  deed: Extract<Deed, { kind: 'there-and-back' }>,
  order: Row,
  isDone: (order: string, sinceMs: number) => Promise<boolean>,
): Promise<boolean> {
  const first = (await readErp(desk)).lines.find((line) => line.order_id === order.id);
  const before = Number(first?.qty);
  const steps = deed.pick % 2 === 0 ? [deed.qty, before] : [deed.qty, before, deed.qty];
  let changedAtMs = 0;
  for (const [index, qty] of steps.entries()) {
    // Long enough for each step to be captured, and to arrive where it can.
    if (index > 0) await until(5_000, () => isDone(`${order.id}`, changedAtMs), 100);
    const rows = await readErp(desk);
    // Somebody else may have deleted it meanwhile.
    if (!rows.lines.some((line) => line.order_id === order.id)) return false;
    changedAtMs = Date.now();
    await desk.run(setQuantity(rows, order, qty, wallTime(changedAtMs)));
  }
  return true;
}

export function setQuantity(rows: ErpRows, order: Row, qty: number, updatedAt: string | null): Statement[] {
  const lines = rows.lines.filter((line) => line.order_id === order.id);
  const first = lines[0] as Row;
  const total = lines.reduce(
    (sum, line) => sum + (line === first ? qty : Number(line.qty)) * Math.round(Number(line.unit_price) * 100),
    0,
  );
  const id = Number(order.id);
  return [
    ['UPDATE sales_order_lines SET qty=? WHERE id=?', `${qty}.000`, Number(first.id)],
    updatedAt === null
      ? ['UPDATE sales_orders SET total=? WHERE id=?', decimal(total), id]
      : ['UPDATE sales_orders SET total=?, updated_at=? WHERE id=?', decimal(total), updatedAt, id],
  ];
}
