import { z } from 'zod';
import type { ServiceFact } from '../model/facts/service.js';
import { outside } from '../model/outside.js';

/**
 * True for a JSON number with a decimal point or an exponent. `parseJson` keeps the form of an amount: 1200.0 comes as
 * text. It may be 1200 of the smallest unit, or 1200 whole ones, which are a hundred times as much; no reader may choose.
 */
export function isDecimal(value: unknown): value is string | number {
  return (typeof value === 'number' || typeof value === 'string') && decimal.test(String(value));
}

const decimal = /^-?\d+(?=[.eE])(\.\d+)?([eE][+-]?\d+)?$/;

/**
 * Why a JSON value is no amount in the smallest unit of its currency; null: it is one. Pure.
 * @param setting what switches the check off, where something does
 */
export function whyNoAmount(
  value: unknown,
  place: string,
  setting: 'service.checkTotal' | 'total' | null = null,
): ServiceFact | null {
  if (Number.isSafeInteger(value)) return null;
  if (!isDecimal(value)) return { code: 'no_amount', place };
  return { code: 'decimal_amount', place, found: outside(String(value), 40), setting };
}

/** An amount in the smallest unit, such as 1998 for 19.98 EUR. */
export const amount = z.custom<number>().superRefine((value, context) => {
  if (Number.isSafeInteger(value)) return;
  const message = isDecimal(value)
    ? `${shown(value)} has a decimal point or an exponent, so it is not in the smallest unit`
    : 'is no whole number of the smallest unit';
  context.addIssue({ code: 'custom', message });
});

const shown = (value: string | number) => String(value).slice(0, 40);
