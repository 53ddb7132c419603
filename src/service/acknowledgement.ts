import { z } from 'zod';
import type { ServiceSettings } from '../config/sections/service.js';
import type { AcknowledgementSettings } from '../config/sections/service-answers.js';
import type { Entity } from '../model/record.js';
import { valueAt } from '../model/record.js';
import type { Delivered } from '../model/verdict.js';
import type { Expectation } from './judge.js';
import { isExact, parseJson } from './parse-json.js';

/** U+FFFD stands where bytes were no UTF-8, and half of a pair is no text: what came is not what the service meant. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
const unfit = /[\u0000-\u001f\u007f-\u009f\ufffd\p{Surrogate}]/u;

/** A text of the service that is kept as it is. */
const acknowledgedText = z
  .string()
  .min(1)
  .max(255)
  .refine((value) => !unfit.test(value), 'holds what is no text');

/** What the service calls a record. Digits that JavaScript would round arrive as text by `parseJson`, so that an id keeps all of them. */
export const acknowledgedId = z.union([acknowledgedText, z.number().int().safe().transform(String)]);

/** Whether the service knows customers by the code that we send, in whatever envelope; otherwise it gives each an id of its own. */
export function idIsCode({ customerId }: Pick<AcknowledgementSettings, 'customerId'>): boolean {
  return customerId.split('.').at(-1) === 'customer_code';
}

/** The endpoint by which each kind of record is made, changed and removed. */
export const endpointNames = {
  customer: { create: 'createCustomer', update: 'updateCustomer', delete: 'deleteCustomer' },
  order: { create: 'createOrder', update: 'updateOrder', delete: 'deleteOrder' },
} as const;

const number = /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/;
/** A number in place of a state is no state, nor is one that comes as text because JavaScript would round it. */
const stateText = acknowledgedText.refine((value) => !number.test(value) || isExact(value), 'is a number');
const total = z.number().int().safe();
const createdAt = z.iso.datetime({ offset: true });

export interface AcknowledgementRequest {
  entity: Entity;
  operation: 'create' | 'update' | 'delete';
  /** What the record is called: the customer code we sent, or the order id that the service gave. */
  expectedId: string | null;
  successStatus: number;
  /** Sum of qty × price of the record; null where there is none to check. */
  expectedTotal: bigint | null;
}

type AcknowledgementProfile = Pick<ServiceSettings, 'acknowledgement' | 'checkTotal'>;

/** What has to come back for a write: an acknowledgement of exactly this record. */
export function expectAcknowledgement(
  profile: AcknowledgementProfile,
  request: AcknowledgementRequest,
): Expectation<Delivered> {
  const { entity, operation, successStatus, expectedId } = request;
  const gone = (serviceId: string) => (reason: string) =>
    ({ kind: 'delivered', serviceId, flag: `The service did not have it any more: ${reason}` }) as const;
  return {
    asks: operation,
    entity,
    answers: [successStatus],
    // 204 is complete without a body (RFC 9110, 15.3.5).
    read: (status, body) => readAcknowledgement(profile, request, status === 204 && body === '' ? '{}' : body),
    gone: operation === 'delete' && expectedId !== null ? gone(expectedId) : undefined,
    successSetting: `service.endpoints.${endpointNames[entity][operation]}.successStatus`,
  };
}

/** Checks the body of a success answer. Unknown fields are welcome, missing or misshapen ones are not. */
function readAcknowledgement(
  profile: AcknowledgementProfile,
  request: AcknowledgementRequest,
  body: string,
): Delivered | string {
  const { acknowledgement: places, checkTotal } = profile;
  const invalid = (reason: string) => `no valid acknowledgement: ${reason}`;
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
  const statePlace = isOrder ? places.orderState : places.customerState;
  const said = read(statePlace, isNewOrder ? stateText : z.unknown(), isNewOrder);
  const sum = isOrder ? read(places.orderTotal, total, isNewOrder && checkTotal === 'exact') : null;
  if (isNewOrder) read(places.orderCreatedAt, createdAt, true);
  const [problem] = problems;
  if (problem !== undefined) return invalid(problem);

  const serviceId = given ?? request.expectedId;
  if (!serviceId) return invalid('the body names no id');
  if (request.expectedId !== null && given !== null && given !== request.expectedId)
    return invalid(`the answer is about ${given}, not ${request.expectedId}`);
  const state = acknowledgedText.safeParse(said).data;
  return {
    kind: 'delivered',
    serviceId,
    flag: totalFlag(profile, request.expectedTotal, sum),
    ...(state === undefined ? {} : { state }),
    ...(sum === null ? {} : { total: sum }),
  };
}

function totalFlag(profile: AcknowledgementProfile, expected: bigint | null, acknowledged: number | null) {
  if (profile.checkTotal === 'off' || expected === null || acknowledged === null) return null;
  if (BigInt(acknowledged) === expected) return null;
  return `The service acknowledged a total of ${acknowledged}; the lines add up to ${expected}.`;
}

const namedId = z.union([z.string(), z.number().int().safe().transform(String)]);

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
  const named = namedId.safeParse(valueAt(value, places.orderId));
  if (!named.success) return `${places.orderId}: it names no order`;
  if (named.data !== orderId) return `the answer is about ${named.data.slice(0, 255)}, not ${orderId}`;
  const status = acknowledgedText.safeParse(valueAt(value, places.orderState));
  if (!status.success) return `${places.orderState}: ${status.error.issues[0]?.message}`;
  const said = total.nullish().safeParse(valueAt(value, places.orderTotal));
  if (!said.success) return `${places.orderTotal}: ${said.error.issues[0]?.message}`;
  return { status: status.data, total: said.data ?? null };
}
