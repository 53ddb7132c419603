import type { ErpRow, ErpSnapshot } from '../erp-database.js';
import { findEqualKeys, keyOf, readRowsByKey } from '../query-source.js';
import type { LinePlan, MappingPlan } from './mapping-plan.js';

/** The lines of the orders of a page, by the order's key parts as JSON. */
export async function readOrderLines(
  snapshot: ErpSnapshot,
  { orders, lines }: Pick<MappingPlan, 'orders' | 'lines'>,
  keys: readonly string[][],
): Promise<Map<string, ErpRow[]>> {
  const byOrder = new Map<string, ErpRow[]>(keys.map((key) => [JSON.stringify(key), []]));
  const { source, sortBy } = lines;
  const doing = 'read the lines of orders (orders.lines.query)';
  const rows = await readRowsByKey(snapshot, { source, columns: lines.orderKey }, keys, { sortBy, doing });

  // Under a collation a line may spell the key of its order another way.
  const strangers = new Map<string, ErpRow[]>();
  for (const row of rows) {
    const key = JSON.stringify(keyOf(row, lines.orderKey));
    const own = byOrder.get(key) ?? strangers.get(key) ?? [];
    if (!byOrder.has(key)) strangers.set(key, own);
    own.push(row);
  }
  const orderKeys = { source: orders.source, columns: orders.key };
  const equal = await findEqualKeys(snapshot, orderKeys, [...strangers.keys()], 'match lines with orders');
  for (const [key, found] of equal) {
    // An order that spells it just so has the better claim, even when it isn't on this page.
    const owner = found.includes(key) ? key : found.find((candidate) => byOrder.has(candidate));
    byOrder.get(owner ?? '')?.push(...(strangers.get(key) ?? []));
  }
  return new Map([...byOrder].map(([key, own]) => [key, inFixedOrder(own, lines)]));
}

/** Lines that share their sort value come in any order; a fixed one keeps the order's content hash from changing. */
function inFixedOrder(rows: readonly ErpRow[], { sortBy }: LinePlan): ErpRow[] {
  const groups: { position: string; rows: ErpRow[] }[] = [];
  for (const row of rows) {
    const position = JSON.stringify(sortBy.map(({ name }) => row[name]));
    const last = groups.at(-1);
    if (last?.position === position) last.rows.push(row);
    else groups.push({ position, rows: [row] });
  }
  const sorted = (tied: ErpRow[]): ErpRow[] =>
    tied
      .map((row) => JSON.stringify(row))
      .sort()
      .map((text) => JSON.parse(text));
  return groups.flatMap((group) => (group.rows.length === 1 ? group.rows : sorted(group.rows)));
}
