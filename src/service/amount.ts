import { z } from 'zod';

/**
 * True for a JSON number with a decimal point or an exponent. `parseJson` keeps the form of an amount: 1200.0 comes as
 * text. It may be 1200 of the smallest unit, or 1200 whole ones, which are a hundred times as much; no reader may choose.
 */
export function isDecimal(value: unknown): value is string | number {
  return (typeof value === 'number' || typeof value === 'string') && decimal.test(String(value));
}

const decimal = /^-?\d+(?=[.eE])(\.\d+)?([eE][+-]?\d+)?$/;

/** Says why a JSON value is no amount in the smallest unit of its currency; null: it is one. Pure. */
export function whyNoAmount(value: unknown): string | null {
  if (Number.isSafeInteger(value)) return null;
  if (isDecimal(value)) return `${shown(value)} has a decimal point or an exponent, so it is not in the smallest unit`;
  return 'is no whole number of the smallest unit';
}

/** An amount in the smallest unit, such as 1998 for 19.98 EUR. */
export const amount = z.custom<number>().superRefine((value, context) => {
  const problem = whyNoAmount(value);
  if (problem !== null) context.addIssue({ code: 'custom', message: problem });
});

const shown = (value: string | number) => String(value).slice(0, 40);
