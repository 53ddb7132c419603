import type { Decimal } from './money.js';

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

/** What a discount leaves of 1, exactly; null where it is below nothing or above everything. */
export function shareLeft(discount: Decimal, type: 'percent' | 'fraction'): Decimal | null {
  const own = discount.exponent - (type === 'percent' ? 2 : 0);
  const exponent = Math.min(own, 0);
  const whole = 10n ** BigInt(-exponent);
  const taken = discount.digits * 10n ** BigInt(own - exponent);
  return taken < 0n || taken > whole ? null : { digits: whole - taken, exponent };
}

/**
 * Whether an amount is the product of a quantity and a price, where the ERP has rounded each of price and amount by half a
 * minor unit at most. @param product in units of 10^scale minor units
 */
export function agrees(qty: Decimal, product: Decimal, amount: bigint, scale: number): boolean {
  const exponent = Math.min(product.exponent + scale, qty.exponent, 0);
  const at = (digits: bigint, own: number) => digits * 10n ** BigInt(own - exponent);
  const difference = at(product.digits, product.exponent + scale) - at(amount, 0);
  return 2n * (difference < 0n ? -difference : difference) <= at(qty.digits, qty.exponent) + at(1n, 0);
}

/** Minor units as people write them: -5 with two decimals is -0.05. */
export function formatMinor(amount: bigint, scale: number): string {
  const digits = `${amount < 0n ? -amount : amount}`.padStart(scale + 1, '0');
  const point = digits.length - scale;
  return `${amount < 0n ? '-' : ''}${digits.slice(0, point)}${scale === 0 ? '' : `.${digits.slice(point)}`}`;
}
