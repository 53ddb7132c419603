import { firstMixedOrder, type Row, readErp, type Statement } from './erp-desk.js';
import { judgeOrder } from './judge-erp.js';
import type { Deed } from './plan.js';
import type { Stage } from './stage.js';
import { patienceMs, until } from './until.js';

/**
 * The rows of an order that the service has are away until a sweep has missed them. If two sweeps have missed them
 * before this process came to bring them back, they stay away: then they are as deleted as any.
 */
export async function vanishOrder(
  stage: Stage,
  { pick }: Extract<Deed, { kind: 'vanish-order' }>,
): Promise<string | null> {
  const { erp, store } = stage;
  /** When the sweep began that missed it last; null: none has. */
  const missedAt = async (key: string) => {
    const sql = `SELECT missing_in_sweep_at AS at FROM binding WHERE entity='order' AND source_key='${key}'`;
    const [row] = await store.rows<{ at: number | null }>(sql);
    return row?.at ?? null;
  };
  let order: Row | undefined;
  await until(
    patienceMs,
    async () => {
      const bound = await store.rows<{ source_key: string }>("SELECT source_key FROM binding WHERE entity='order'");
      const keys = new Set(bound.map(({ source_key: key }) => key));
      const rows = await readErp(erp);
      const isPlain = ({ id }: Row) => Number(id) < firstMixedOrder && keys.has(`${id}`);
      const there = rows.orders.filter((one) => isPlain(one) && judgeOrder(one, rows).kind === 'good');
      order = there[pick % Math.max(there.length, 1)];
      return order !== undefined;
    },
    50,
  );
  if (!order) return null;
  const id = Number(order.id);
  const move = (from: string, to: string): Statement[] => [
    [`INSERT INTO ${to}sales_orders SELECT * FROM ${from}sales_orders WHERE id=?`, id],
    [`INSERT INTO ${to}sales_order_lines SELECT * FROM ${from}sales_order_lines WHERE order_id=?`, id],
    [`DELETE FROM ${from}sales_order_lines WHERE order_id=?`, id],
    [`DELETE FROM ${from}sales_orders WHERE id=?`, id],
  ];
  await erp.run(move('', 'aside_'));
  let first: number | null = null;
  const isMissed = async () => {
    first = await missedAt(`${id}`);
    return first !== null;
  };
  const wasMissed = await until(patienceMs, isMissed, 10);
  const last = await missedAt(`${id}`);
  if (last !== null && last !== first) {
    erp.deletedOrders.push(order);
    return null;
  }
  await erp.run(move('aside_', ''));
  return wasMissed ? `order ${id}` : null;
}
