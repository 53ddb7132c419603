import type { CustomerRecord, JsonValue, OrderItem, OrderRecord } from '../../model/record.js';
import type { ErpRow } from '../erp-database.js';
import type { MappedContent, ReadOrder } from '../erp-reader.js';
import { type FieldContext, type FieldPlan, mapFields } from './map-field.js';
import { isSafe, parseDecimal, toScaledInteger } from './money.js';

export interface MappedCustomer {
  content: MappedContent<CustomerRecord>;
  /** Known even where another field is wrong: orders of this customer can go on. */
  customerCode: string | null;
}

/** One customer row as a record, or the reasons why it can't be one. */
export function mapCustomer(
  sourceKey: string,
  row: ErpRow,
  fields: readonly FieldPlan[],
  context: FieldContext,
): MappedCustomer {
  const { values, problems } = mapFields(row, fields, context);
  const code = values.customer_code;
  const customerCode = typeof code === 'string' ? code : null;
  if (customerCode === null || problems.length > 0) {
    const reason = `customer ${sourceKey}: ${problems.join('. Also: ')}`;
    return { content: { mapped: false, reason, fingerprint: JSON.stringify(row) }, customerCode };
  }
  return { content: { mapped: true, record: { ...values, customer_code: customerCode } }, customerCode };
}

export interface OrderMapping extends FieldContext {
  fields: readonly FieldPlan[];
  lineFields: readonly FieldPlan[];
  /** Column of the order total, if it is to be compared. */
  total: string | null;
}

/** What the customers query had to say about the customer of an order. */
export type OrderCustomer =
  /** Customers aren't sent: the order's own fields name the code. */
  | { found: 'not-needed' }
  | { found: 'yes'; key: string; customerCode: string | null; reason: string | null; row: ErpRow }
  | { found: 'no'; reason: string };

export interface OrderRows {
  sourceKey: string;
  number: string | null;
  row: ErpRow;
  lines: readonly ErpRow[];
  customer: OrderCustomer;
}

/** One order with its lines as a record, or the reasons why it can't be one; and both totals where they are known. */
export function mapOrder(order: OrderRows, mapping: OrderMapping): Pick<ReadOrder, 'content' | 'totals'> {
  const header = mapFields(order.row, mapping.fields, mapping);
  const lines = order.lines.map((line) => mapLine(line, mapping));
  const total = headerTotal(order.row, mapping);
  const customer = customerCode(order.customer, header.values.customer_code);

  const problems = [
    ...customer.problems,
    ...header.problems,
    ...total.problems,
    ...(lines.length === 0 ? ['it has no lines; add them in the ERP, or cancel the order there'] : []),
  ].map((problem) => `: ${problem}`);
  lines.forEach((line, index) => {
    problems.push(...line.problems.map((problem) => `, line ${index + 1}: ${problem}`));
  });

  const items = lines.flatMap((line) => (line.item === null ? [] : [line.item]));
  const linesTotal = items.length === lines.length ? sumOf(items) : null;
  if (linesTotal !== null && !isSafe(linesTotal)) {
    problems.push(`: its lines add up to ${linesTotal}, which is too large to be sent exactly; correct it in the ERP`);
  }
  return {
    content: content(order, header.values, customer.code, items, problems),
    totals: linesTotal === null || total.minor === null ? null : { lines: `${linesTotal}`, header: `${total.minor}` },
  };
}

function content(
  order: OrderRows,
  fields: Record<string, JsonValue>,
  code: string | null,
  items: OrderItem[],
  problems: readonly string[],
): MappedContent<OrderRecord> {
  if (code === null || problems.length > 0) {
    const reason = problems.map((problem) => `order ${order.sourceKey}${problem}`).join('. Also ');
    const customerRow = order.customer.found === 'yes' ? order.customer.row : null;
    return { mapped: false, reason, fingerprint: JSON.stringify([order.row, order.lines, customerRow]) };
  }
  const record: OrderRecord = { ...fields, customer_code: code, items };
  if (order.number !== null && order.number !== '' && !('note' in fields)) record.note = order.number;
  return { mapped: true, record };
}

function customerCode(
  customer: OrderCustomer,
  own: JsonValue | undefined,
): { code: string | null; problems: string[] } {
  const ownCode = typeof own === 'string' ? own : null;
  if (customer.found === 'no') return { code: null, problems: [customer.reason] };
  if (customer.found === 'not-needed' || ownCode !== null) return { code: ownCode, problems: [] };
  if (customer.customerCode !== null) return { code: customer.customerCode, problems: [] };
  return { code: null, problems: [`its customer can not be sent: ${customer.reason ?? `customer ${customer.key}`}`] };
}

function headerTotal(row: ErpRow, mapping: OrderMapping): { minor: bigint | null; problems: string[] } {
  const text = mapping.total === null ? null : (row[mapping.total] ?? null);
  if (text === null || text === '') return { minor: null, problems: [] };
  const decimal = parseDecimal(text);
  if (decimal === null) {
    return {
      minor: null,
      problems: [`${mapping.total} ${JSON.stringify(text)} is not a number; correct it in the ERP`],
    };
  }
  const minor = toScaledInteger(decimal, mapping.scale, mapping.rounding);
  if (minor !== null) return { minor, problems: [] };
  const problem = `${mapping.total} ${text} has more than ${mapping.scale} decimals; fix the total or set amounts.rounding`;
  return { minor, problems: [problem] };
}

function mapLine(row: ErpRow, mapping: OrderMapping): { item: OrderItem | null; problems: string[] } {
  const { values, problems } = mapFields(row, mapping.lineFields, mapping);
  const { sku, qty, price } = values;
  if (typeof qty === 'number' && qty <= 0) {
    const raw = rawQty(row, mapping.lineFields) ?? qty;
    problems.push(`${raw} is not a positive quantity; keep returns and credit notes out with orders.pending`);
  }
  if (problems.length > 0 || typeof sku !== 'string' || typeof qty !== 'number' || typeof price !== 'number') {
    return { item: null, problems };
  }
  return { item: { ...values, sku, qty, price }, problems };
}

function rawQty(row: ErpRow, fields: readonly FieldPlan[]): string | null {
  const source = fields.find((field) => field.name === 'qty')?.source;
  return source !== undefined && 'column' in source ? `${source.column} ${row[source.column]}` : null;
}

function sumOf(items: readonly OrderItem[]): bigint {
  return items.reduce((sum, item) => sum + BigInt(item.qty) * BigInt(item.price), 0n);
}
