import { z } from 'zod';
import type { AcknowledgementSettings } from '../config/sections/service-answers.js';
import { valueAt } from '../model/json-place.js';
import type { Entity } from '../model/record.js';
import { isExact, parseJson } from './parse-json.js';

/** U+FFFD stands where bytes were no UTF-8, and half of a pair is no text: what came is not what the service meant. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
const unfit = /[\u0000-\u001f\u007f-\u009f\ufffd\p{Surrogate}]/u;

/** A text of the service that is kept as it is. */
export const acknowledgedText = z
  .string()
  .min(1)
  .max(255)
  .refine((value) => !unfit.test(value), 'holds what is no text');

/** What the service calls a record. Digits that JavaScript would round arrive as text by `parseJson`, so that an id keeps all of them. */
export const acknowledgedId = z.union([acknowledgedText, z.number().int().safe().transform(String)]);

/** What the service acknowledged, or why its answer is no acknowledgement. */
export type Acknowledgement =
  | { valid: true; serviceId: string; total: number | null; state: string | null }
  | { valid: false; reason: string };

const number = /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/;
/** So does a number in place of a state, which is no state for that. */
const stateText = acknowledgedText.refine((value) => !number.test(value) || isExact(value), 'is a number');
const total = z.number().int().safe();
const createdAt = z.iso.datetime({ offset: true });

export interface AcknowledgementRequest {
  entity: Entity;
  operation: 'create' | 'update' | 'delete';
  /** What the record is called: the customer code we sent, or the order id that the service gave. */
  expectedId: string | null;
}

export interface AcknowledgementProfile {
  acknowledgement: AcknowledgementSettings;
  checkTotal: 'exact' | 'off';
}

/** Checks the body of a success answer. Unknown fields are welcome, missing or misshapen ones are not. */
export function readAcknowledgement(
  { acknowledgement: places, checkTotal }: AcknowledgementProfile,
  request: AcknowledgementRequest,
  body: string,
): Acknowledgement {
  // Of what is gone there is nothing more to say.
  const value = request.operation === 'delete' && body === '' ? {} : parseJson(body);
  if (value === undefined) return invalid('the body is no JSON, or says one thing twice');
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return invalid('the body is no JSON object');
  const isOrder = request.entity === 'order';
  const isNewOrder = isOrder && request.operation === 'create';

  const problems: string[] = [];
  const read = <T>(place: string, schema: z.ZodType<T>, required: boolean): T | null => {
    const found = valueAt(value, place);
    if (found === undefined && !required) return null;
    const parsed = schema.safeParse(found);
    if (parsed.success) return parsed.data;
    problems.push(`${place}: ${parsed.error.issues[0]?.message}`);
    return null;
  };
  const given = read(isOrder ? places.orderId : places.customerId, acknowledgedId, isNewOrder);
  const state = read(
    isOrder ? places.orderState : places.customerState,
    isNewOrder ? stateText : z.unknown(),
    isNewOrder,
  );
  const sum = isOrder ? read(places.orderTotal, total, isNewOrder && checkTotal === 'exact') : null;
  if (isNewOrder) read(places.orderCreatedAt, createdAt, true);
  const [problem] = problems;
  if (problem !== undefined) return invalid(problem);

  const serviceId = given ?? request.expectedId;
  if (!serviceId) return invalid('the body names no id');
  if (request.expectedId !== null && given !== null && given !== request.expectedId)
    return invalid(`the answer is about ${given}, not ${request.expectedId}`);
  return { valid: true, serviceId, total: sum, state: acknowledgedText.safeParse(state).data ?? null };
}

function invalid(reason: string): Acknowledgement {
  return { valid: false, reason };
}
