import { z } from 'zod';
import type { ServiceSettings } from '../config/sections/service.js';
import type { AcknowledgementSettings } from '../config/sections/service-answers.js';
import type { Entity } from '../model/record.js';
import { valueAt } from '../model/record.js';
import type { Delivered } from '../model/verdict.js';
import { isDecimal, whyNoAmount } from './amount.js';
import type { AnswerPlaces } from './failure-mark.js';
import type { Expectation } from './judge.js';
import { isExact } from './parse-json.js';

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
const createdAt = z.iso.datetime({ offset: true });

export interface AcknowledgementRequest {
  entity: Entity;
  operation: 'create' | 'update' | 'delete';
  /** What the record is called: the customer code we sent, or the order id that the service gave. */
  expectedId: string | null;
  /** The id that this change gives to the record, where its id is a field of ours; absent or null: it keeps the one it has. */
  newId?: string | null;
  successStatus: number;
  /** Sum of qty × price of the record; null where there is none to check. */
  expectedTotal: bigint | null;
}

type AcknowledgementProfile = Pick<ServiceSettings, 'acknowledgement' | 'checkTotal'>;
type OrderPlaces = Pick<AcknowledgementSettings, 'orderId' | 'orderState' | 'orderTotal'>;
type TotalProfile = Pick<ServiceSettings, 'checkTotal'> & { acknowledgement: Pick<OrderPlaces, 'orderTotal'> };

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
    places: acknowledgementPlaces(profile.acknowledgement, entity),
    // 204 is complete without a body (RFC 9110, 15.3.5), and of what is gone there is nothing more to say.
    read: (status, json, body) =>
      readAcknowledgement(profile, request, body === '' && (status === 204 || operation === 'delete') ? {} : json),
    gone: operation === 'delete' && expectedId !== null ? gone(expectedId) : undefined,
    successSetting: `service.endpoints.${endpointNames[entity][operation]}.successStatus`,
  };
}

/** Where the answer to a write, or to the question for an order, has its values. Pure. */
export function acknowledgementPlaces(places: AcknowledgementSettings, entity: Entity): AnswerPlaces {
  const { customerId, customerState, orderId, orderState, orderTotal, orderCreatedAt } = places;
  return entity === 'customer'
    ? { values: [customerId, customerState], id: customerId, amounts: new Set() }
    : { values: [orderId, orderState, orderTotal, orderCreatedAt], id: orderId, amounts: amountsAt(orderTotal) };
}

/** Names of the fields that hold amounts in an answer that shows an order. */
export function amountsAt(total: string | undefined): ReadonlySet<string> {
  return new Set(['price', total?.split('.').at(-1) ?? 'total']);
}

/** Checks the body of a success answer. Unknown fields are welcome, missing or misshapen ones are not. */
function readAcknowledgement(
  profile: AcknowledgementProfile,
  request: AcknowledgementRequest,
  value: unknown,
): Delivered | string {
  const { acknowledgement: places } = profile;
  const invalid = (reason: string) => `no valid acknowledgement: ${reason}`;
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
  const sum = isOrder ? totalAt(profile, value, isNewOrder) : null;
  if (typeof sum === 'string') problems.push(sum);
  if (isNewOrder) read(places.orderCreatedAt, createdAt, true);
  const [problem] = problems;
  if (problem !== undefined || typeof sum === 'string') return invalid(problem ?? '');

  const { expectedId, newId = null } = request;
  const serviceId = given ?? newId ?? expectedId;
  if (!serviceId) return invalid('the body names no id');
  if (expectedId !== null && given !== null && given !== expectedId && given !== newId)
    return invalid(`the answer is about ${given}, not ${expectedId}`);
  const isRenamed = newId !== null && serviceId === newId;
  const kept =
    newId !== null && !isRenamed ? `The service calls it ${serviceId} still, and was to call it ${newId}.` : null;
  const state = acknowledgedText.safeParse(said).data;
  return {
    kind: 'delivered',
    serviceId,
    flag: totalFlag(profile, request.expectedTotal, sum) ?? kept,
    ...(state === undefined ? {} : { state }),
    ...(sum === null ? {} : { total: sum }),
    ...(isRenamed && expectedId !== null ? { renamedFrom: expectedId } : {}),
  };
}

/**
 * The total that an answer gives of an order; null: none, or none that `service.checkTotal` asks for.
 * @returns a text that says why it is no total
 */
function totalAt(profile: TotalProfile, answer: unknown, isRequired: boolean): number | null | string {
  const place = profile.acknowledgement.orderTotal;
  const found = valueAt(answer, place) ?? null;
  const problem = whyNoAmount(found);
  if (problem === null) return found as number;
  if (profile.checkTotal === 'off' || (found === null && !isRequired)) return null;
  const advice = isDecimal(found) ? '. If the service gives totals in another unit, set service.checkTotal: off' : '';
  return `${place}: ${problem}${advice}`;
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
  profile: Pick<ServiceSettings, 'checkTotal'> & { acknowledgement: OrderPlaces },
  orderId: string,
  value: unknown,
): { status: string; total: number | null } | string {
  const places = profile.acknowledgement;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'the body is no JSON object';
  const named = namedId.safeParse(valueAt(value, places.orderId));
  if (!named.success) return `${places.orderId}: it names no order`;
  if (named.data !== orderId) return `the answer is about ${named.data.slice(0, 255)}, not ${orderId}`;
  const status = acknowledgedText.safeParse(valueAt(value, places.orderState));
  if (!status.success) return `${places.orderState}: ${status.error.issues[0]?.message}`;
  const total = totalAt(profile, value, false);
  return typeof total === 'string' ? total : { status: status.data, total };
}
