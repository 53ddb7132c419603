import type { Decimal } from './money.js';

/** The whole price that comes nearest to an amount, and what qty × price leaves of it. Amounts in minor units, qty above zero. */
export function priceFor(qty: bigint, amount: bigint): { price: bigint; rest: bigint } {
  const twice = 2n * amount + qty;
  const quotient = twice / (2n * qty);
  const price = quotient * 2n * qty > twice ? quotient - 1n : quotient;
  return { price, rest: amount - qty * price };
}

/** Whether an amount is qty × price, where the ERP has rounded each of price and amount by half a minor unit at most. */
export function agrees(qty: bigint, { digits, exponent }: Decimal, amount: bigint, scale: number): boolean {
  const shift = BigInt(exponent + scale);
  const [units, parts] = shift >= 0n ? [digits * 10n ** shift, 1n] : [digits, 10n ** -shift];
  const difference = qty * units - amount * parts;
  return 2n * (difference < 0n ? -difference : difference) <= (qty + 1n) * parts;
}

/** Minor units as people write them: -5 with two decimals is -0.05. */
export function formatMinor(amount: bigint, scale: number): string {
  const digits = `${amount < 0n ? -amount : amount}`.padStart(scale + 1, '0');
  const point = digits.length - scale;
  return `${amount < 0n ? '-' : ''}${digits.slice(0, point)}${scale === 0 ? '' : `.${digits.slice(point)}`}`;
}
