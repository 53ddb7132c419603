import type { OrderItem } from '../../model/record.js';
import type { ErpRow } from '../erp-database.js';
import { agrees, formatMinor, priceFor, shareLeft, times } from './line-price.js';
import {
  columnOf,
  type FieldContext,
  type FieldPlan,
  isEmpty,
  isNothing,
  mapField,
  mapFields,
  type Outcome,
  quote,
  readDecimal,
  type WrittenDecimal,
} from './map-field.js';
import { type Decimal, isSafe, toScaledInteger } from './money.js';

/** skip: a line without SKU and price is left out. Otherwise every line without a SKU gets this one. */
export type TextLines = 'skip' | { sku: string };

/** How many of the service's units one of the ERP's is: the same for every line, or by the code in a column. */
export type UnitPlan = { factor: bigint } | { column: string; factors: ReadonlyMap<string, bigint> };

/** How a row becomes an item of an order. */
export interface LineMapping extends FieldContext {
  lineFields: readonly FieldPlan[];
  /** What becomes of lines without a SKU; undefined: their order is parked. */
  textLines?: TextLines | undefined;
  /** The amount of a line, where the settings name one: its price is worked out from it. */
  amount?: FieldPlan | undefined;
  /** What the price of a line is lowered by; an empty column is none. */
  discount?: { field: FieldPlan; type: 'percent' | 'fraction' } | undefined;
  unit?: UnitPlan | undefined;
  /** SKU of the line with what qty × price leaves of the amounts; undefined: such an order is parked. */
  roundingSku?: string | undefined;
}

interface MappedLine {
  item: OrderItem | null;
  problems: string[];
  isSkipped?: true;
  /** What qty × price leaves of the line's amount. */
  rest?: bigint;
}

/** One line of an order as an item, or what is wrong with it. */
export function mapLine(row: ErpRow, mapping: LineMapping): MappedLine {
  const stated = statedForText(row, mapping);
  if (stated === 'skip') return { item: null, problems: [], isSkipped: true };
  const { amount, discount, unit, lineFields } = mapping;
  const isWorkedOut = stated.price === undefined && (amount ?? discount ?? unit) !== undefined;
  const isScaled = stated.qty === undefined && unit !== undefined;
  const fields = lineFields.filter(
    ({ name }) => !(name in stated || (isWorkedOut && name === 'price') || (isScaled && name === 'qty')),
  );
  const { values, problems } = mapFields(row, fields, mapping);
  const scaled = isScaled ? scaledQuantity(row, unit, mapping) : null;
  if (scaled && 'problem' in scaled) problems.push(scaled.problem);
  const quantity = scaled && 'value' in scaled ? scaled.value : wholeQuantity(stated.qty ?? values.qty);
  const { sku, qty } = { ...values, ...stated, qty: quantity?.qty };
  if (qty !== undefined && qty <= 0) {
    const source = lineFields.find(({ name }) => name === 'qty')?.source;
    const raw =
      source !== undefined && 'column' in source && !source.orElse ? `${source.column} ${row[source.column]}` : qty;
    problems.push(`${raw} is not a positive quantity; keep returns and credit notes out with orders.pending`);
  }
  const priced = isWorkedOut && quantity && quantity.qty > 0 ? priceByAmount(row, quantity, mapping) : null;
  if (priced && 'problem' in priced) problems.push(priced.problem);
  const { price, rest } =
    priced && 'value' in priced ? priced.value : { price: stated.price ?? values.price, rest: 0n };
  if (problems.length > 0 || typeof sku !== 'string' || qty === undefined || typeof price !== 'number') {
    return { item: null, problems };
  }
  return { item: { ...values, sku, qty, price }, problems, rest };
}

/** A quantity in units of the service, and as the ERP has it. */
interface Quantity extends WrittenDecimal {
  qty: number;
}

function wholeQuantity(qty: unknown): Quantity | undefined {
  return typeof qty === 'number' ? { qty, decimal: { digits: BigInt(qty), exponent: 0 }, text: `${qty}` } : undefined;
}

function scaledQuantity(row: ErpRow, unit: UnitPlan, mapping: LineMapping): Outcome<Quantity> {
  const field = mapping.lineFields.find(({ name }) => name === 'qty');
  const read = readDecimal(row, field, mapping);
  if ('problem' in read) return read;
  const code = 'column' in unit ? (row[unit.column] ?? '').trim() : '';
  const factor = 'column' in unit ? unit.factors.get(code) : unit.factor;
  if (factor === undefined) {
    const found = `${'column' in unit ? unit.column : ''} ${quote(code)}`;
    return { problem: `${found} has no factor in orders.lines.unit.factors; add it there` };
  }
  const qty = toScaledInteger(times(read.value.decimal, { digits: factor, exponent: 0 }), 0, 'refuse');
  if (qty !== null && isSafe(qty)) return { value: { ...read.value, qty: Number(qty) } };
  const found = `${read.value.text}${code && ` ${code.slice(0, 40)}`} × ${factor}`;
  return { problem: `${found} is not a whole quantity; correct it in the ERP, or the factor in orders.lines.unit` };
}

/** The price with which a line comes to its amount, and what is left where no whole price does. */
function priceByAmount(
  row: ErpRow,
  quantity: Quantity,
  mapping: LineMapping,
): Outcome<{ price: number; rest: bigint }> {
  const { roundingSku, scale } = mapping;
  const read = lineAmount(row, quantity, mapping);
  if ('problem' in read) return read;
  const { amount, what } = read.value;
  const qty = BigInt(quantity.qty);
  const { price, rest } = priceFor(qty, amount);
  if (rest === 0n || roundingSku !== undefined) return { value: { price: Number(price), rest } };
  const nearest = `${qty} × ${formatMinor(price, scale)} is ${formatMinor(qty * price, scale)}`;
  return {
    problem: `no price comes to ${what}: ${nearest}; name a SKU for the difference in orders.lines.rounding, or correct it in the ERP`,
  };
}

/** What a line comes to in minor units, and in words. A price beside a column of amounts has to tell the same. */
function lineAmount(row: ErpRow, quantity: Quantity, mapping: LineMapping): Outcome<{ amount: bigint; what: string }> {
  const { scale, rounding } = mapping;
  const own = mapping.lineFields.find(({ name }) => name === 'price');
  const unitScale = own?.type === 'integer' ? 0 : scale;
  const share = readShare(row, mapping);
  if ('problem' in share) return share;
  const column = own && columnOf(row, own);
  const less = share.value.text === '' ? '' : ` less ${share.value.text}`;
  const asked = `${quantity.text} × ${column ?? 'price'} ${quote((column && row[column]) || '')}${less}`;
  const read = readDecimal(row, own, mapping);
  const product =
    'value' in read ? times(times(quantity.decimal, read.value.decimal), share.value.left) : { problem: read.problem };
  if (mapping.amount === undefined) {
    if ('problem' in product) return product;
    const amount = toScaledInteger(product, unitScale, rounding);
    if (amount === null)
      return { problem: `${asked} has more than ${scale} decimals; correct it in the ERP, or set amounts.rounding` };
    if (isSafe(amount)) return { value: { amount, what: `${formatMinor(amount, scale)} (${asked})` } };
    return { problem: `${asked} is too large to be sent exactly; correct it in the ERP` };
  }
  const stated = mapField(row, mapping.amount, mapping);
  if ('problem' in stated) return stated;
  const amount = BigInt(Number(stated.value));
  const what = `${columnOf(row, mapping.amount)} ${formatMinor(amount, scale)}`;
  const isAlone = own === undefined || isEmpty(row, own);
  if (isAlone || ('digits' in product && agrees(quantity.decimal, product, amount, unitScale)))
    return { value: { amount, what } };
  const advice = 'correct it in the ERP, or leave price out of orders.lines.fields where only the amount counts';
  return { problem: `${asked} does not come to ${what}; ${advice}` };
}

/** What the discount of a line leaves of its price: all of it where the column is empty. */
function readShare(row: ErpRow, mapping: LineMapping): Outcome<{ left: Decimal; text: string }> {
  const { discount } = mapping;
  if (discount === undefined || isNothing(row, discount.field))
    return { value: { left: { digits: 1n, exponent: 0 }, text: '' } };
  const read = readDecimal(row, discount.field, mapping);
  if ('problem' in read) return read;
  const left = shareLeft(read.value.decimal, discount.type);
  const found = `${columnOf(row, discount.field)} ${read.value.text}`;
  if (left !== null) return { value: { left, text: found } };
  const most = discount.type === 'percent' ? 100 : 1;
  return {
    problem: `${found} is no discount between 0 and ${most}; correct it in the ERP, or orders.lines.discount.type`,
  };
}

/** What a line without a SKU is sent with instead of its columns. One that has a price is never skipped. */
function statedForText(row: ErpRow, { lineFields, textLines, amount }: LineMapping): Partial<OrderItem> | 'skip' {
  const field = (name: string) => lineFields.find((one) => one.name === name);
  const [sku, qty, price] = [field('sku'), field('qty'), field('price')];
  if (textLines === undefined || !sku || !qty || !isEmpty(row, sku)) return {};
  const isText = [price, amount].every((one) => one === undefined || isNothing(row, one));
  if (textLines === 'skip') return isText ? 'skip' : {};
  return { sku: textLines.sku, ...(isText && { price: 0 }), ...(isText && isNothing(row, qty) && { qty: 1 }) };
}
