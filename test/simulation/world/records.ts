import type { CustomerRow, OrderRow } from './erp.js';
import type { World } from './world.js';

/** The record that the service should hold of an order, as the settings describe it. */
export function orderRecord(world: World, order: OrderRow): { [name: string]: unknown } | null {
  const { erp, settings } = world;
  const customer = erp.customer(order.customer_id);
  const items = erp
    .linesOf(order.id)
    .map(({ sku, qty, price }) => ({ sku, qty: Number(qty), price: Math.round(Number(price) * 100) }));
  const record: { [name: string]: unknown } = { customer_code: customer?.code, items, note: order.number };
  for (const [field, from] of Object.entries(settings.orders.fields as Record<string, unknown>)) {
    const { column, constant } =
      typeof from === 'string'
        ? { column: from, constant: undefined }
        : (from as { column?: string; constant?: string });
    const value = constant ?? order[column as keyof OrderRow];
    if (value !== null && value !== undefined && value !== '') record[field] = value;
  }
  return record;
}

export function customerRecord({ settings }: World, customer: CustomerRow): { [name: string]: unknown } {
  const record: { [name: string]: unknown } = {};
  for (const [field, from] of Object.entries(settings.customers.fields as Record<string, unknown>)) {
    const column = typeof from === 'string' ? from : (from as { column: string }).column;
    const value = customer[column as keyof CustomerRow];
    if (value !== null && value !== undefined && value !== '') record[field] = value;
  }
  return record;
}
