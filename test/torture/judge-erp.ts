import type { ErpRows, Row } from './erp-desk.js';

/** Longer than the service of a torture run takes. */
export const tooLongText = 'x'.repeat(100);
export const longestText = 80;
/** Longer codes can't be told apart in the store. */
const longestCode = 255;

export interface OrderBody {
  customer_code: string;
  note: string;
  remark?: string;
  items: { sku: string; qty: number; price: number }[];
}

/** The record that an order row has to become, worked out without a line of the connector. */
export type JudgedOrder =
  | { kind: 'ineligible' }
  | { kind: 'unmappable' }
  | { kind: 'refused'; body: OrderBody }
  | { kind: 'good'; body: OrderBody };

export function judgeOrder(order: Row, rows: ErpRows): JudgedOrder {
  if (order.status !== 'confirmed' || order.currency !== 'EUR' || (order.created_at ?? '') < '2026-01-01')
    return { kind: 'ineligible' };
  const customer = rows.customers.find((one) => one.id === order.customer_id);
  const lines = rows.lines.filter((line) => line.order_id === order.id);
  if (!customer || lines.length === 0) return { kind: 'unmappable' };
  if ((customer.customer_no ?? '').length > longestCode) return { kind: 'unmappable' };
  let cents = 0;
  const items: OrderBody['items'] = [];
  for (const line of lines) {
    const qty = Number(line.qty);
    const price = Math.round(Number(line.unit_price) * 1000) / 10;
    if (!Number.isInteger(qty) || qty <= 0 || !Number.isInteger(price) || !line.sku) return { kind: 'unmappable' };
    items.push({ sku: line.sku, qty, price });
    cents += qty * price;
  }
  if (Math.round(Number(order.total) * 100) !== cents) return { kind: 'unmappable' };
  const body: OrderBody = {
    customer_code: customer.customer_no as string,
    note: order.order_no as string,
    items,
    ...(order.remark ? { remark: order.remark } : {}),
  };
  return { kind: (order.remark ?? '').length > longestText ? 'refused' : 'good', body };
}

export function judgeCustomer(customer: Row): Record<string, string> {
  const body: Record<string, string> = {
    customer_code: customer.customer_no as string,
    name: customer.name as string,
    country: customer.country as string,
  };
  for (const name of ['email', 'street', 'postcode', 'city']) if (customer[name]) body[name] = customer[name];
  return body;
}
