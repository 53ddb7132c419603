import type { ErpRow } from '../../db/erp-database.js';
import { firstFew, type RowFact, type RowProblems } from '../../model/facts/rows.js';
import { withoutOutside } from '../../model/outside.js';
import {
  type CustomerRecord,
  type JsonValue,
  type OrderItem,
  type OrderRecord,
  orderTotal,
} from '../../model/record.js';
import type { MappedContent, ReadOrder } from '../erp-reader.js';
import { type LineMapping, priceByAmount, type Quantity, scaledQuantity } from './line-price.js';
import {
  type FieldContext,
  type FieldPlan,
  found,
  isEmpty,
  isNothing,
  mapFields,
  type Outcome,
  quote,
  readAmount,
} from './map-field.js';
import { isSafe } from './money.js';

/**
 * One customer row as a record, or the reasons why it can't be one. Its code may be known even where another field is
 * wrong: orders of this customer can go on.
 */
export function mapCustomer(
  row: ErpRow,
  fields: readonly FieldPlan[],
  context: FieldContext,
): { content: MappedContent<CustomerRecord>; customerCode: string | null } {
  const { values, problems } = mapFields(row, fields, context);
  const code = typeof values.customer_code === 'string' ? values.customer_code : null;
  problems.push(...tooLong('customer_code', code));
  const customerCode = code !== null && code.length > maxNameLength ? null : code;
  const [first, ...others] = problems;
  if (customerCode === null || first !== undefined) {
    const all: RowProblems = [first ?? noCode, ...others];
    return { content: { mapped: false, problems: all, fingerprint: JSON.stringify(row) }, customerCode };
  }
  return { content: { mapped: true, record: { ...values, customer_code: customerCode } }, customerCode };
}

/** A customer code that is no text: a constant of the settings may be a number. */
const noCode: RowFact = { code: 'value_missing', field: 'customer_code', columns: [], mayBeOptional: false };

export interface OrderMapping extends LineMapping {
  /** The column of the currency, the field in which it is sent, and the decimal places of those that may be. */
  currency?: { column: string; field: string | undefined; scales: ReadonlyMap<string, number> } | undefined;
  fields: readonly FieldPlan[];
  /** Column of the order total, where the settings name one. */
  total: string | null;
}

/** The customers query's words about the customer of an order. */
export type OrderCustomer =
  /** Customers aren't sent: the order's own fields name the code. */
  | { found: 'not-needed' }
  | { found: 'yes'; key: string; customerCode: string | null; problems: readonly RowFact[]; row: ErpRow }
  | { found: 'no'; problem: RowFact };

interface OrderRows {
  number: string | null;
  row: ErpRow;
  lines: readonly ErpRow[];
  customer: OrderCustomer;
  /** The fault of its number; absent: none. */
  problems?: readonly RowFact[];
}

type MappedOrder = Pick<ReadOrder, 'content' | 'totals' | 'skippedLines' | 'currency'>;

/** One order with its lines as a record, or the reasons why it can't be one; and both totals where they are known. */
export function mapOrder(order: OrderRows, given: OrderMapping): MappedOrder {
  const { number, row, customer } = order;
  const money = readCurrency(row, given);
  if ('problem' in money) return { content: unmapped(order, [money.problem]), totals: null };
  const mapping = money.value === null ? given : { ...given, scale: money.value.scale };
  const currency = money.value && { currency: money.value.code };
  const header = mapFields(row, mapping.fields, mapping);
  const code = customerCode(customer, header.values.customer_code);
  const totalText = mapping.total && row[mapping.total];
  const total = mapping.total && totalText ? readAmount(totalText, mapping.total, 'total', mapping) : null;
  const lines = order.lines.map((line) => mapLine(line, mapping));
  const items: OrderItem[] = [];
  let kept = 0;
  let rest = 0n;
  for (const line of lines) {
    if (line.isSkipped) continue;
    kept++;
    if (line.item !== null) items.push(line.item);
    if (line.rest) rest += line.rest;
  }
  const skipped = kept < lines.length ? { skippedLines: lines.length - kept } : null;
  const isWhole = items.length === kept;
  if (mapping.roundingSku !== undefined) {
    if (isWhole && total !== null && 'value' in total)
      rest += roundedApart(BigInt(total.value) - orderTotal(items) - rest, kept);
    if (rest !== 0n) items.push({ sku: mapping.roundingSku, qty: 1, price: Number(rest) });
  }
  const linesTotal = orderTotal(items);

  const problems: RowFact[] = [
    ...('problem' in code ? [code.problem] : tooLong('customer_code', code.value)),
    ...(order.problems ?? []),
    ...tooLong('number', number),
    ...header.problems,
    ...(total !== null && 'problem' in total ? [total.problem] : []),
    ...(kept === 0 ? [{ code: 'no_lines', texts: lines.length } as const] : []),
    ...lines.flatMap(({ problems }, index) => problems.map((problem) => atLine(index, problem))),
    ...(isWhole && !isSafe(linesTotal)
      ? [{ code: 'lines_too_large', sum: `${linesTotal}`, scale: mapping.scale } as const]
      : []),
  ];

  const totals =
    isWhole && total !== null && 'value' in total ? { lines: `${linesTotal}`, header: `${total.value}` } : null;
  const [first, ...others] = problems;
  if ('problem' in code || code.value === null || first !== undefined)
    return { content: unmapped(order, [first ?? noCode, ...others]), totals, ...skipped, ...currency };
  const record: OrderRecord = Object.assign(header.values, { customer_code: code.value, items });
  if (money.value !== null && mapping.currency?.field !== undefined) record[mapping.currency.field] = money.value.code;
  // A note that is mapped and empty says that there is none.
  const hasOwnNote = mapping.fields.some(({ name }) => name === 'note');
  if (number !== null && number !== '' && !hasOwnNote) record.note = number;
  return { content: { mapped: true, record }, totals, ...skipped, ...currency };
}

/**
 * The part of a difference between an order and its lines, in minor units, that comes from rounding each line by itself: all
 * of it, if it is at most half a unit for each line, or else nothing.
 */
function roundedApart(difference: bigint, lines: number): bigint {
  return 2n * (difference < 0n ? -difference : difference) <= BigInt(lines) ? difference : 0n;
}

/** A problem of a line, counted from 0. */
function atLine(index: number, problem: RowFact): RowFact {
  return { ...problem, line: index + 1 } as RowFact;
}

function unmapped({ row, lines, customer }: OrderRows, problems: RowProblems): ReadOrder['content'] {
  const customerRow = customer.found === 'yes' ? customer.row : null;
  return { mapped: false, problems, fingerprint: JSON.stringify([row, lines, customerRow]) };
}

/** The currency of an order. Without one that is known, no amount of it can be read. */
function readCurrency(row: ErpRow, { currency }: OrderMapping): Outcome<{ code: string; scale: number } | null> {
  if (currency === undefined) return { value: null };
  const { column, scales } = currency;
  const code = (row[column] ?? '').trim();
  const scale = scales.get(code);
  if (scale !== undefined) return { value: { code, scale } };
  if (code === '') return { problem: { code: 'currency_missing', column } };
  const known = firstFew([...scales.keys()]);
  return { problem: { code: 'currency_not_listed', ...found(column, code), known, currencies: scales.size } };
}

/** Characters of what names a record: the store keeps no more, and a name is never cut. */
const maxNameLength = 255;

function tooLong(name: 'customer_code' | 'number', text: string | null): RowFact[] {
  if (text === null || text.length <= maxNameLength) return [];
  return [{ code: 'name_too_long', name, length: text.length, maxLength: maxNameLength }];
}

/** Null where the order's own field has a problem, which is told with the other fields. */
function customerCode(customer: OrderCustomer, own: JsonValue | undefined): Outcome<string | null> {
  if (customer.found === 'no') return { problem: customer.problem };
  if (typeof own === 'string') return { value: own };
  if (customer.found === 'not-needed') return { value: null };
  if (customer.customerCode !== null) return { value: customer.customerCode };
  // A value in the customer's row may be about a person, and is told with the customer alone.
  const [because] = withoutOutside(customer.problems);
  const problems = customer.problems.length;
  return { problem: { code: 'customer_not_sendable', customer: customer.key, problems, ...(because && { because }) } };
}

interface MappedLine {
  item: OrderItem | null;
  problems: RowFact[];
  isSkipped?: true;
  /** The rest of the line's amount after qty × price. */
  rest?: bigint;
}

/** One line of an order as an item, or what is wrong with it. */
function mapLine(row: ErpRow, mapping: LineMapping): MappedLine {
  const stated = statedForText(row, mapping);
  if (stated === 'skip') return { item: null, problems: [], isSkipped: true };
  const { amount, discount, unit, lineFields } = mapping;
  const isWorkedOut = stated.price === undefined && (amount ?? discount ?? unit) !== undefined;
  const isScaled = stated.qty === undefined && unit !== undefined;
  const isPlain = stated === nothingStated && !isWorkedOut && !isScaled;
  const fields = isPlain
    ? lineFields
    : lineFields.filter(
        ({ name }) => !(name in stated || (isWorkedOut && name === 'price') || (isScaled && name === 'qty')),
      );
  const { values, problems } = mapFields(row, fields, mapping);
  const scaled = isScaled ? scaledQuantity(row, unit, mapping) : null;
  if (scaled && 'problem' in scaled) problems.push(scaled.problem);
  const whole = stated.qty ?? values.qty;
  const scaledQty = scaled && 'value' in scaled ? scaled.value : undefined;
  const wholeQty = typeof whole === 'number' ? whole : undefined;
  const qty = scaledQty ? scaledQty.qty : wholeQty;
  const sku = stated.sku ?? values.sku;
  if (qty !== undefined && qty <= 0) {
    const source = lineFields.find(({ name }) => name === 'qty')?.source;
    const column = source !== undefined && 'column' in source && !source.orElse ? source.column : null;
    const value = quote((column === null ? null : row[column]) ?? `${qty}`);
    problems.push({ code: 'quantity_not_positive', column, value, isZero: qty === 0 });
  }
  const quantity = isWorkedOut ? (scaledQty ?? wholeQuantity(qty)) : undefined;
  const priced = quantity && quantity.qty > 0 ? priceByAmount(row, quantity, mapping) : null;
  if (priced && 'problem' in priced) problems.push(priced.problem);
  const { price, rest } =
    priced && 'value' in priced ? priced.value : { price: stated.price ?? values.price, rest: 0n };
  if (problems.length > 0 || typeof sku !== 'string' || qty === undefined || typeof price !== 'number') {
    return { item: null, problems };
  }
  return { item: Object.assign(values, { sku, qty, price }), problems, rest };
}

function wholeQuantity(qty: unknown): Quantity | undefined {
  return typeof qty === 'number' ? { qty, decimal: { digits: BigInt(qty), exponent: 0 }, text: `${qty}` } : undefined;
}

const nothingStated: Partial<OrderItem> = {};

/** The item that a line without a SKU is sent with instead of its columns. One that has a price is never skipped. */
function statedForText(row: ErpRow, { lineFields, textLines, amount }: LineMapping): Partial<OrderItem> | 'skip' {
  if (textLines === undefined) return nothingStated;
  const field = (name: string) => lineFields.find((one) => one.name === name);
  const [sku, qty, price] = [field('sku'), field('qty'), field('price')];
  if (!sku || !qty || !isEmpty(row, sku)) return nothingStated;
  const isText = [price, amount].every((one) => one === undefined || isNothing(row, one));
  if (textLines === 'skip') return isText ? 'skip' : nothingStated;
  return { sku: textLines.sku, ...(isText && { price: 0 }), ...(isText && isNothing(row, qty) && { qty: 1 }) };
}
