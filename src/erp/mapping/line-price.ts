import type { ErpRow } from '../../db/erp-database.js';
import type { LineAmount, LineProduct } from '../../model/facts/rows.js';
import { decimalText } from '../../model/minor-units.js';
import type { Outside } from '../../model/outside.js';
import {
  columnOf,
  type FieldContext,
  type FieldPlan,
  found,
  isEmpty,
  isNothing,
  mapField,
  type Outcome,
  quote,
  readDecimal,
  type WrittenDecimal,
} from './map-field.js';
import { type Decimal, isSafe, toScaledInteger } from './money.js';

/** skip: a line without SKU and price is left out. Otherwise every line without a SKU gets this one. */
export type TextLines = 'skip' | { sku: string };

/** The number of the service's units in one of the ERP's: the same for every line, or by the code in a column. */
export type UnitPlan = { factor: bigint } | { column: string; factors: ReadonlyMap<string, bigint> };

/** The mapping of a row to an item of an order. */
export interface LineMapping extends FieldContext {
  lineFields: readonly FieldPlan[];
  /** The treatment of lines without a SKU; undefined: their order is parked. */
  textLines?: TextLines | undefined;
  /** The amount of a line, where the settings name one: its price is worked out from it. */
  amount?: FieldPlan | undefined;
  /** The column that lowers the price of a line; an empty column is none. */
  discount?: { field: FieldPlan; type: 'percent' | 'fraction' } | undefined;
  unit?: UnitPlan | undefined;
  /** SKU of the line with what qty × price leaves of the amounts; undefined: such an order is parked. */
  roundingSku?: string | undefined;
}

/** A quantity in units of the service, and as the ERP has it. */
export interface Quantity extends WrittenDecimal {
  qty: number;
}

export function scaledQuantity(row: ErpRow, unit: UnitPlan, mapping: LineMapping): Outcome<Quantity> {
  const field = mapping.lineFields.find(({ name }) => name === 'qty');
  const read = readDecimal(row, field, mapping);
  if ('problem' in read) return read;
  const code = 'column' in unit ? (row[unit.column] ?? '').trim() : '';
  const factor = 'column' in unit ? unit.factors.get(code) : unit.factor;
  if (factor === undefined)
    return { problem: { code: 'unit_without_factor', ...found('column' in unit ? unit.column : '', code) } };
  const qty = toScaledInteger(times(read.value.decimal, { digits: factor, exponent: 0 }), 0, 'refuse');
  if (qty !== null && isSafe(qty)) return { value: { ...read.value, qty: Number(qty) } };
  const shown = { qty: quote(read.value.text), unit: code === '' ? null : quote(code), factor: `${factor}` };
  return { problem: { code: 'quantity_not_whole', ...shown } };
}

/** The price with which a line comes to its amount, and what is left where no whole price does. */
export function priceByAmount(
  row: ErpRow,
  quantity: Quantity,
  mapping: LineMapping,
): Outcome<{ price: number; rest: bigint }> {
  const { roundingSku, scale } = mapping;
  const read = lineAmount(row, quantity, mapping);
  if ('problem' in read) return read;
  const { amount, of } = read.value;
  const qty = BigInt(quantity.qty);
  const { price, rest } = priceFor(qty, amount);
  if (rest === 0n || roundingSku !== undefined) return { value: { price: Number(price), rest } };
  const nearest = { price: decimalText(price, scale), comesTo: decimalText(qty * price, scale) };
  return { problem: { code: 'no_price_for_amount', of, qty: `${qty}`, ...nearest } };
}

/** The amount of a line in minor units, and where it comes from. A price beside a column of amounts has to tell the same. */
function lineAmount(
  row: ErpRow,
  quantity: Quantity,
  mapping: LineMapping,
): Outcome<{ amount: bigint; of: LineAmount }> {
  const { scale, rounding } = mapping;
  const own = mapping.lineFields.find(({ name }) => name === 'price');
  const unitScale = own?.type === 'integer' ? 0 : scale;
  const share = readShare(row, mapping);
  if ('problem' in share) return share;
  const column = (own && columnOf(row, own)) ?? null;
  const { discount } = share.value;
  const product: LineProduct = {
    qty: quote(quantity.text),
    column,
    price: quote((column && row[column]) || ''),
    ...(discount && { discount }),
  };
  const read = readDecimal(row, own, mapping);
  const exact =
    'value' in read ? times(times(quantity.decimal, read.value.decimal), share.value.left) : { problem: read.problem };
  if (mapping.amount === undefined) {
    if ('problem' in exact) return exact;
    const amount = toScaledInteger(exact, unitScale, rounding);
    if (amount === null) return { problem: { code: 'product_too_many_decimals', ...product, scale } };
    if (isSafe(amount)) return { value: { amount, of: { amount: decimalText(amount, scale), product } } };
    return { problem: { code: 'product_too_large', ...product } };
  }
  const stated = mapField(row, mapping.amount, mapping);
  if ('problem' in stated) return stated;
  const amount = BigInt(Number(stated.value));
  const of = { column: columnOf(row, mapping.amount) ?? '', amount: decimalText(amount, scale) };
  const isAlone = own === undefined || isEmpty(row, own);
  if (isAlone || ('digits' in exact && agrees(quantity.decimal, exact, amount, unitScale)))
    return { value: { amount, of } };
  return { problem: { code: 'price_differs', ...product, amountColumn: of.column, amount: of.amount } };
}

/** The rest of a line's price after its discount: all of it if the column is empty. */
function readShare(
  row: ErpRow,
  mapping: LineMapping,
): Outcome<{ left: Decimal; discount?: { column: string; value: Outside } }> {
  const { discount } = mapping;
  if (discount === undefined || isNothing(row, discount.field)) return { value: { left: { digits: 1n, exponent: 0 } } };
  const read = readDecimal(row, discount.field, mapping);
  if ('problem' in read) return read;
  const left = shareLeft(read.value.decimal, discount.type);
  const shown = found(columnOf(row, discount.field) ?? '', read.value.text);
  if (left !== null) return { value: { left, discount: shown } };
  return { problem: { code: 'discount_out_of_range', ...shown, most: discount.type === 'percent' ? 100 : 1 } };
}

/** The whole price that comes nearest to an amount, and what qty × price leaves of it. Amounts in minor units, qty above zero. */
export function priceFor(qty: bigint, amount: bigint): { price: bigint; rest: bigint } {
  const twice = 2n * amount + qty;
  const quotient = twice / (2n * qty);
  const price = quotient * 2n * qty > twice ? quotient - 1n : quotient;
  return { price, rest: amount - qty * price };
}

/** The product, exactly. */
export function times(a: Decimal, b: Decimal): Decimal {
  return { digits: a.digits * b.digits, exponent: a.exponent + b.exponent };
}

/** The part of 1 that a discount leaves, exactly; null if it is below nothing or above everything. */
export function shareLeft(discount: Decimal, type: 'percent' | 'fraction'): Decimal | null {
  const own = discount.exponent - (type === 'percent' ? 2 : 0);
  const exponent = Math.min(own, 0);
  const whole = 10n ** BigInt(-exponent);
  const taken = discount.digits * 10n ** BigInt(own - exponent);
  return taken < 0n || taken > whole ? null : { digits: whole - taken, exponent };
}

/**
 * Tells if an amount is the product of a quantity and a price, where the ERP has rounded each of price and amount by
 * half a minor unit at most. @param product in units of 10^scale minor units
 */
export function agrees(qty: Decimal, product: Decimal, amount: bigint, scale: number): boolean {
  const exponent = Math.min(product.exponent + scale, qty.exponent, 0);
  const at = (digits: bigint, own: number) => digits * 10n ** BigInt(own - exponent);
  const difference = at(product.digits, product.exponent + scale) - at(amount, 0);
  return 2n * (difference < 0n ? -difference : difference) <= at(qty.digits, qty.exponent) + at(1n, 0);
}
