import type { OrdersSettings } from '../../config/sections/orders.js';
import type { ReadOrder } from '../../erp/erp-reader.js';
import type { RecordFact } from '../../model/facts/records.js';
import { firstFew } from '../../model/facts/rows.js';
import { outside } from '../../model/outside.js';
import { type OrderItem, orderTotal } from '../../model/record.js';
import type { Tx } from '../../store/store.js';
import { acknowledgedRecords } from './known-records.js';
import type { Plan } from './plan-row.js';

type LostLines = Extract<RecordFact, { code: 'lines_lost' }>;

/**
 * Tells the lines that an order at the service would lose though the ERP may still have them; null: none. Pure.
 *
 * A condition or a join of the lines query that drops a line looks like a line that was deleted. Only the total of the order,
 * which is kept beside its lines, tells the two apart: it agrees with the lines that are left, and is another one than before.
 * @param before what the service has
 * @param ownSkus of lines that Waybill makes, and of texts: they come and go
 */
export function lostLines(
  before: readonly OrderItem[],
  now: readonly OrderItem[],
  totals: ReadOrder['totals'],
  ownSkus: ReadonlySet<string>,
): LostLines | null {
  const [old, left] = [before, now].map((items) => items.filter(({ sku }) => !ownSkus.has(sku))) as [
    OrderItem[],
    OrderItem[],
  ];
  if (left.length >= old.length) return null;
  const sums = (items: readonly OrderItem[]) => {
    const bySku = new Map<string, number>();
    for (const { sku, qty } of items) bySku.set(sku, (bySku.get(sku) ?? 0) + qty);
    return bySku;
  };
  const have = sums(left);
  // Lines that became one have lost nothing.
  const lost = [...sums(old)].filter(([sku, qty]) => qty > (have.get(sku) ?? 0));
  if (lost.length === 0) return null;
  const isProven = totals !== null && totals.lines === totals.header && orderTotal(before) !== orderTotal(now);
  if (isProven) return null;
  const some = firstFew(lost).map(([sku, qty]) => ({ qty: qty - (have.get(sku) ?? 0), sku: outside(sku, 40) }));
  return { code: 'lines_lost', before: old.length, now: left.length, lost: some, lostSkus: lost.length };
}

/** Holds the updates of a page that would take lines from an order at the service, where nothing proves that they are gone. */
export async function holdLostLines(tx: Tx, plans: readonly Plan[], { lines }: OrdersSettings): Promise<void> {
  const keys = plans.map(({ message }) => message.sourceKey);
  const acknowledged = await acknowledgedRecords(tx, 'order', keys);
  const text = typeof lines.text === 'object' ? lines.text.sku : undefined;
  const ownSkus = new Set([text, lines.rounding?.sku].filter((sku) => sku !== undefined));
  for (const { row, message } of plans) {
    const before = itemsOf(acknowledged.get(message.sourceKey));
    if (row.entity !== 'order' || !row.content.mapped || before === null) continue;
    const reason = lostLines(before, row.content.record.items, row.totals, ownSkus);
    if (reason !== null) message.parked = { parkClass: 'held', reason };
  }
}

function itemsOf(json: string | undefined): OrderItem[] | null {
  const { items } = (json === undefined ? {} : JSON.parse(json)) as { items?: OrderItem[] };
  return Array.isArray(items) ? items : null;
}
