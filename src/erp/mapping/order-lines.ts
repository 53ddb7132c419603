import type { ErpDatabase, ErpRow, ErpSnapshot } from '../erp-database.js';
import { findEqualKeys, keyOf, readRowsByKey } from '../related-rows.js';
import type { LinePlan, OrderPlan } from './mapping-plan.js';

/** The lines of the orders of a page, by the text of the order's key parts (as JSON). */
export async function readOrderLines(
  database: ErpDatabase,
  snapshot: ErpSnapshot,
  orders: OrderPlan,
  lines: LinePlan,
  keys: readonly string[][],
): Promise<Map<string, ErpRow[]>> {
  const byOrder = new Map<string, ErpRow[]>(keys.map((key) => [JSON.stringify(key), []]));
  const target = { source: lines.source, columns: lines.orderKey };
  const rows = await readRowsByKey(database, snapshot, target, keys, {
    sortBy: lines.sortBy,
    doing: 'read the lines of orders (orders.lines.query)',
  });

  // Under a collation a line may spell the key of its order another way.
  const strangers = new Map<string, ErpRow[]>();
  for (const row of rows) {
    const key = JSON.stringify(keyOf(row, lines.orderKey));
    const own = byOrder.get(key);
    if (own !== undefined) own.push(row);
    else strangers.set(key, [...(strangers.get(key) ?? []), row]);
  }
  if (strangers.size > 0) {
    const spellings = [...strangers.keys()].map((key) => JSON.parse(key) as string[]);
    const orderKeys = { source: orders.source, columns: orders.key };
    const equal = await findEqualKeys(database, snapshot, orderKeys, spellings, 'match lines with orders');
    spellings.forEach((spelling, index) => {
      const found = (equal[index] ?? []).map((key) => JSON.stringify(key));
      const key = JSON.stringify(spelling);
      // An order that spells it just so has the better claim, even when it isn't on this page.
      const owner = found.includes(key) ? key : found.find((candidate) => byOrder.has(candidate));
      byOrder.get(owner ?? '')?.push(...(strangers.get(key) ?? []));
    });
  }
  for (const own of byOrder.values()) settleOrder(own, lines);
  return byOrder;
}

/** Lines that share their sort value come in any order; a fixed one keeps the order's content hash from changing. */
function settleOrder(rows: ErpRow[], { sortBy }: LinePlan): void {
  const position = (row: ErpRow): string => JSON.stringify(sortBy.map((column) => row[column.name]));
  for (let start = 0; start < rows.length; ) {
    let end = start + 1;
    const first = rows[start];
    while (end < rows.length && first && position(rows[end] as ErpRow) === position(first)) end += 1;
    if (end - start > 1) {
      const tied = rows.slice(start, end).map((row) => [JSON.stringify(row), row] as const);
      tied.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
      rows.splice(start, tied.length, ...tied.map(([, row]) => row));
    }
    start = end;
  }
}
