import type { Settings } from '../../config/settings.js';
import { currencyScale } from '../../model/currencies.js';
import type { Currency } from '../../model/facts/rows.js';

export type Rounding = 'refuse' | 'half-up' | 'half-even';

/** A decimal number, exactly: `digits × 10^exponent`. */
export interface Decimal {
  digits: bigint;
  exponent: number;
}

const DECIMAL = /^([+-]?)(\d+\.?\d*|\.\d+)(?:[eE]([+-]?\d{1,4}))?$/;

/** Reads decimal text, with or without the exponent in which databases write large and small doubles. */
export function parseDecimal(text: string): Decimal | null {
  const match = DECIMAL.exec(text.trim());
  if (match === null) return null;
  const [, sign, mantissa = '', exponent = '0'] = match;
  const [whole = '', fraction = ''] = mantissa.split('.');
  const digits = BigInt(whole + fraction);
  return { digits: sign === '-' ? -digits : digits, exponent: Number(exponent) - fraction.length };
}

/** A double holds every integer of so many digits. */
const exactDigits = 15;
const POINT = 46;
const MINUS = 45;
const ZERO = 48;

/**
 * A number as most columns write it, as an integer of `10^-scale`. Null says that `parseDecimal` has to read it: it is long,
 * has more decimals, is written another way, or is no number.
 */
export function plainScaled(text: string, scale: number): number | null {
  const start = text.charCodeAt(0) === MINUS ? 1 : 0;
  let value = 0;
  let digits = 0;
  // Missing before the point.
  let decimals = -1;
  for (let at = start; at < text.length; at++) {
    const digit = text.charCodeAt(at) - ZERO;
    if (digit === POINT - ZERO && decimals < 0 && digits > 0) decimals = 0;
    else if (digit < 0 || digit > 9) return null;
    else if (decimals < scale) {
      value = value * 10 + digit;
      digits++;
      if (decimals >= 0) decimals++;
    } else if (digit !== 0) return null;
  }
  const missing = scale - Math.max(decimals, 0);
  if (digits === 0 || digits + missing > exactDigits) return null;
  for (let n = 0; n < missing; n++) value *= 10;
  return start === 1 && value > 0 ? -value : value;
}

/**
 * A decimal as an integer of `10^-scale`, exactly, or null when it has more decimals and rounding is `refuse`.
 * half-up rounds a tie away from zero, half-even to the even neighbour.
 */
export function toScaledInteger({ digits, exponent }: Decimal, scale: number, rounding: Rounding): bigint | null {
  const shift = exponent + scale;
  if (shift >= 0) return digits * 10n ** BigInt(shift);
  const divisor = 10n ** BigInt(-shift);
  const quotient = digits / divisor;
  const rest = digits % divisor;
  if (rest === 0n) return quotient;
  if (rounding === 'refuse') return null;
  const awayFromZero = digits < 0n ? quotient - 1n : quotient + 1n;
  const twice = 2n * (rest < 0n ? -rest : rest);
  if (twice > divisor) return awayFromZero;
  if (twice < divisor) return quotient;
  return rounding === 'half-up' || quotient % 2n !== 0n ? awayFromZero : quotient;
}

const HIGHEST = BigInt(Number.MAX_SAFE_INTEGER);

/** JSON numbers beyond this lose digits in most programs that read them. */
export function isSafe(value: bigint | number): boolean {
  return value <= HIGHEST && value >= -HIGHEST;
}

/** The currencies that orders may have, each with the decimal places of its amounts at the service. */
export function currencyScales({ currency, currencies = [], scale }: Settings['amounts']): Map<string, number | null> {
  return new Map([currency, ...currencies].map((code) => [code, scale ?? currencyScale(code)]));
}

/** The currency of an order that was read, and its decimal places. @param code of the order; undefined: it names none */
export function moneyOf({ currency, scale }: Settings['amounts'], code = currency): Currency {
  return { currency: code, scale: scale ?? currencyScale(code) ?? 0 };
}

/** The currency of an order as it was sent, from its JSON; null where nothing tells. */
export function sentCurrency({ amounts, orders }: Pick<Settings, 'amounts' | 'orders'>, json: string | null) {
  const field = orders.currency?.field;
  if (amounts.currencies === undefined || field === undefined) return amounts.currency;
  const code = json === null ? null : (JSON.parse(json) as { [name: string]: unknown })[field];
  return typeof code === 'string' ? code : null;
}
