import type { ServiceSettings } from '../config/sections/service.js';
import type { AcknowledgementSettings } from '../config/sections/service-answers.js';
import type { Fact } from '../model/facts/fact.js';
import type { TextProblem } from '../model/facts/service.js';
import { outside } from '../model/outside.js';
import type { Entity } from '../model/record.js';
import { valueAt } from '../model/record.js';
import { type Delivered, Unusable } from '../model/verdict.js';
import { whyNoAmount } from './amount.js';
import type { AnswerPlaces } from './failure-mark.js';
import type { Expectation } from './judge.js';
import { isExact } from './parse-json.js';

/** U+FFFD stands where bytes were no UTF-8, and half of a pair is no text: what came is not what the service meant. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
const unfit = /[\u0000-\u001f\u007f-\u009f\ufffd\p{Surrogate}]/u;

/** The endpoint by which each kind of record is made, changed and removed. */
export const endpointNames = {
  customer: { create: 'createCustomer', update: 'updateCustomer', delete: 'deleteCustomer' },
  order: { create: 'createOrder', update: 'updateOrder', delete: 'deleteOrder' },
} as const;

const number = /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/;
/** A number in place of a state is no state, nor is one that comes as text because JavaScript would round it. */
const isState = (value: string) => !number.test(value) || isExact(value);

/** Why a value is no text that is kept as it is; null: it is one. */
function whyNoText(value: unknown): TextProblem | null {
  if (value === undefined) return 'missing';
  if (typeof value !== 'string') return typeof value === 'number' ? 'number' : 'no_text';
  if (value === '') return 'empty';
  if (value.length > 255) return 'too_long';
  return unfit.test(value) ? 'unreadable' : null;
}

function whyNoId(value: unknown): TextProblem | null {
  return Number.isSafeInteger(value) ? null : whyNoText(value);
}

/**
 * The service's name of a record; null: it is none. Digits that JavaScript would round arrive as text by `parseJson`, so
 * that an id keeps all of them.
 */
export function acknowledgedId(value: unknown): string | null {
  return whyNoId(value) === null ? String(value) : null;
}

export interface AcknowledgementRequest {
  entity: Entity;
  operation: 'create' | 'update' | 'delete';
  /** The record's name: the customer code we sent, or the order id that the service gave. */
  expectedId: string | null;
  /** The id that this change gives to the record, where its id is a field of ours; absent or null: it keeps the one it has. */
  newId?: string | null;
  successStatus: number | readonly number[];
  /** An earlier request with the same key may have taken effect. */
  isRepeated?: boolean;
  /** Sum of qty × price of the record; null where there is none to check. */
  expectedTotal: bigint | null;
}

type AcknowledgementProfile = Pick<ServiceSettings, 'acknowledgement' | 'checkTotal'>;
type OrderPlaces = Pick<AcknowledgementSettings, 'orderId' | 'orderState' | 'orderTotal'>;
type TotalProfile = Pick<ServiceSettings, 'checkTotal'> & { acknowledgement: Pick<OrderPlaces, 'orderTotal'> };

/** The answer that a write needs: an acknowledgement of exactly this record. */
export function expectAcknowledgement(
  profile: AcknowledgementProfile,
  request: AcknowledgementRequest,
): Expectation<Delivered> {
  const { entity, operation, successStatus, expectedId } = request;
  const gone = (serviceId: string) => (reason: Fact) =>
    ({ kind: 'delivered', serviceId, flag: { code: 'was_not_there', reason } }) as const;
  return {
    asks: operation,
    entity,
    answers: typeof successStatus === 'number' ? [successStatus] : successStatus,
    isRepeated: request.isRepeated === true && operation === 'create',
    places: acknowledgementPlaces(profile.acknowledgement, entity),
    // If the record has a name already, the status alone makes an answer.
    read: (_status, json, body) => readAcknowledgement(profile, request, body === '' ? {} : json),
    gone: operation === 'delete' && expectedId !== null ? gone(expectedId) : undefined,
    successSetting: `service.endpoints.${endpointNames[entity][operation]}.successStatus`,
  };
}

/** The places of the values in the answer to a write, or to the question for an order. Pure. */
export function acknowledgementPlaces(places: AcknowledgementSettings, entity: Entity): AnswerPlaces {
  const { customerId, customerState, orderId, orderState, orderTotal, orderCreatedAt } = places;
  return entity === 'customer'
    ? { values: [customerId, customerState], id: customerId, amounts: [] }
    : { values: [orderId, orderState, orderTotal, orderCreatedAt], id: orderId, amounts: amountsAt(orderTotal) };
}

/** Names of the fields that hold amounts in an answer that shows an order. */
export function amountsAt(total = 'total'): readonly string[] {
  return ['price', total.slice(total.lastIndexOf('.') + 1)];
}

/** Checks the body of a success answer: a new record needs its id, and a total that is there has to be one. The rest may be missing. */
function readAcknowledgement(
  profile: AcknowledgementProfile,
  request: AcknowledgementRequest,
  value: unknown,
): Delivered | Unusable {
  const { acknowledgement: places } = profile;
  if (value === undefined) return new Unusable({ code: 'no_json' });
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return new Unusable({ code: 'no_json_object' });
  const isOrder = request.entity === 'order';
  const isNewOrder = isOrder && request.operation === 'create';

  const idPlace = isOrder ? places.orderId : places.customerId;
  const id = valueAt(value, idPlace);
  const noId = id === undefined && !isNewOrder ? null : whyNoId(id);
  if (noId !== null) return new Unusable({ code: 'unusable_text', place: idPlace, problem: noId });
  const given = id === undefined ? null : String(id);
  const statePlace = isOrder ? places.orderState : places.customerState;
  const said = valueAt(value, statePlace);
  const sum = isOrder ? totalAt(profile, value) : null;
  if (sum instanceof Unusable) return sum;

  const { expectedId, newId = null } = request;
  const serviceId = given ?? newId ?? expectedId;
  if (!serviceId) return new Unusable({ code: 'names_no_id' });
  if (expectedId !== null && given !== null && given !== expectedId && given !== newId)
    return new Unusable({ code: 'other_record', found: outside(given), expected: expectedId });
  const isRenamed = newId !== null && serviceId === newId;
  const kept = newId !== null && !isRenamed ? ({ code: 'id_not_changed', serviceId, newId } as const) : null;
  const delivered: Delivered = {
    kind: 'delivered',
    serviceId,
    flag: totalFlag(profile, request.expectedTotal, sum) ?? kept,
  };
  // Nothing depends on the state: one that is no text is left out.
  if (whyNoText(said) === null && isState(said as string)) delivered.state = said as string;
  if (sum !== null) delivered.total = sum;
  if (isRenamed && expectedId !== null) delivered.renamedFrom = expectedId;
  return delivered;
}

/**
 * The total that an answer gives of an order; null: none, or none that `service.checkTotal` asks for.
 */
function totalAt(profile: TotalProfile, answer: unknown): number | null | Unusable {
  const place = profile.acknowledgement.orderTotal;
  const found = valueAt(answer, place) ?? null;
  if (Number.isSafeInteger(found)) return found as number;
  if (profile.checkTotal === 'off' || found === null) return null;
  const problem = whyNoAmount(found, place, 'service.checkTotal');
  return problem && new Unusable(problem);
}

function totalFlag(profile: AcknowledgementProfile, expected: bigint | null, acknowledged: number | null): Fact | null {
  if (profile.checkTotal === 'off' || expected === null || acknowledged === null) return null;
  if (BigInt(acknowledged) === expected) return null;
  return { code: 'total_differs', found: acknowledged, expected: String(expected) };
}

/**
 * The facts in the answer to the question for one order. Pure.
 */
export function readOrderAnswer(
  profile: Pick<ServiceSettings, 'checkTotal'> & { acknowledgement: OrderPlaces },
  orderId: string,
  value: unknown,
): { status: string; total: number | null } | Unusable {
  const places = profile.acknowledgement;
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return new Unusable({ code: 'no_json_object' });
  const named = valueAt(value, places.orderId);
  if (typeof named !== 'string' && !Number.isSafeInteger(named)) return new Unusable({ code: 'names_no_id' });
  if (String(named) !== orderId)
    return new Unusable({ code: 'other_record', found: outside(String(named), 255), expected: orderId });
  const status = valueAt(value, places.orderState);
  const noState = whyNoText(status);
  if (noState !== null) return new Unusable({ code: 'unusable_text', place: places.orderState, problem: noState });
  const total = totalAt(profile, value);
  return total instanceof Unusable ? total : { status: status as string, total };
}
