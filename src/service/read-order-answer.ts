import { z } from 'zod';
import type { AcknowledgementSettings } from '../config/sections/service-answers.js';
import { valueAt } from '../model/json-place.js';
import { parseJson } from './parse-json.js';

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
const unfit = /[\u0000-\u001f\u007f-\u009f\ufffd\p{Surrogate}]/u;
const text = z
  .string()
  .min(1)
  .max(255)
  .refine((value) => !unfit.test(value), 'holds what is no text');
const id = z.union([z.string(), z.number().int().safe().transform(String)]);

/**
 * What the answer to the question for one order says of it. Pure.
 * @returns a text that says why it is no such answer
 */
export function readOrderAnswer(
  places: Pick<AcknowledgementSettings, 'orderId' | 'orderState' | 'orderTotal'>,
  orderId: string,
  body: string,
): { status: string; total: number | null } | string {
  const value = parseJson(body);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'the body is no JSON object';
  const named = id.safeParse(valueAt(value, places.orderId));
  if (!named.success) return `${places.orderId}: it names no order`;
  if (named.data !== orderId) return `the answer is about ${named.data.slice(0, 255)}, not ${orderId}`;
  const status = text.safeParse(valueAt(value, places.orderState));
  if (!status.success) return `${places.orderState}: ${status.error.issues[0]?.message}`;
  const said = valueAt(value, places.orderTotal);
  const total = z.number().int().safe().nullish().safeParse(said);
  if (!total.success) return `${places.orderTotal}: ${total.error.issues[0]?.message}`;
  return { status: status.data, total: total.data ?? null };
}
