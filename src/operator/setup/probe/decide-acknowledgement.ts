import type { ProbeFact } from '../../../model/facts/probe.js';
import { type Entity, type OrderItem, orderTotal, valueAt } from '../../../model/record.js';
import {
  type Evidence,
  type Finding,
  holds,
  inShort,
  isDone,
  type JsonObject,
  jsonOf,
  lastName,
  leavesOf,
  type ProbeEvidence,
} from './evidence.js';

/** The likelihood that a field of this name is the id of a record, the likeliest first. */
const idNames = [/^order_?id$/i, /^id$/i, /^(uu|gu)id$/i, /id$/i, /(^|_)(no|num|number|code|ref|reference|key)$/i];
const oneWord = /^[\p{L}\p{N}_. -]{1,64}$/u;
const instant = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/;

/**
 * Places of an answer that may hold the id of the record, the likeliest first. Pure.
 * @param sent values that we sent, which are no ids of the service
 */
export function orderIdPlaces(body: unknown, sent: readonly unknown[]): string[] {
  const score = (place: string) => idNames.findIndex((name) => name.test(lastName(place)));
  return leavesOf(body)
    .filter(({ value }) => (typeof value === 'string' && value !== '') || Number.isSafeInteger(value))
    .filter(({ place, value }) => score(place) >= 0 && lastName(place) !== 'customer_code' && !sent.includes(value))
    .sort((a, b) => score(a.place) - score(b.place))
    .map(({ place }) => place);
}

/** True if an answer shows this record, and not another one that the same id leads to. */
function shows(read: Evidence, record: JsonObject): boolean {
  if (!isDone(read)) return false;
  const { customer_code, note, items } = record;
  const own = [customer_code, note].filter((one) => typeof one === 'string');
  return holds(read, ...own, ...(Array.isArray(items) ? [Number(orderTotal(items as OrderItem[]))] : []));
}

/** The place of a record's id, as a read of it has proven. Pure. */
function provenPlace({ reads, orderRecord, customerRecord }: ProbeEvidence, entity: Entity): string | undefined {
  const record = entity === 'order' ? orderRecord : customerRecord;
  return record && reads.find((one) => one.entity === entity && shows(one.read, record))?.place;
}

/**
 * The place of the id in the answer to a created order: proven by a read; if orders can't be read, by its name, unless
 * another field might be it. A wrong id would change or remove somebody else's order. Pure.
 */
export function orderIdPlace(evidence: ProbeEvidence): string | undefined {
  const { order, orderRecord, reads } = evidence;
  const proven = provenPlace(evidence, 'order');
  if (proven !== undefined || !order) return proven;
  if (reads.some(({ entity, read }) => entity === 'order' && isDone(read))) return undefined;
  const places = orderIdPlaces(jsonOf(order), valuesOf(orderRecord ?? {}));
  const [first] = places;
  return first !== undefined && (places.length === 1 || idNames[0]?.test(lastName(first))) ? first : undefined;
}

/** The same of a customer; our code is none that has to be proven. */
export function customerIdPlace(evidence: ProbeEvidence): string | undefined {
  const { customer } = evidence;
  const places = customer ? customerIdPlaces(customer) : [];
  return places.find((place) => lastName(place) === 'customer_code') ?? provenPlace(evidence, 'customer');
}

/** The name of a created customer in its answer: our code, or an id. */
export function customerIdPlaces(customer: Evidence): string[] {
  const body = jsonOf(customer);
  const code = leavesOf(body).find(({ place }) => lastName(place) === 'customer_code')?.place;
  return code === undefined ? orderIdPlaces(body, []) : [code];
}

export const valuesOf = (record: JsonObject) => leavesOf(record).map(({ value }) => value);

/** The places of the values in the acknowledgements of an order and of a customer. */
export function decideAcknowledgement(evidence: ProbeEvidence): Finding[] {
  return [ofOrder(evidence), ofCustomer(evidence)];
}

function ofOrder(evidence: ProbeEvidence): Finding {
  const { order, orderRecord, reads } = evidence;
  const point = { code: 'probe_of_order_made' } as const;
  if (!order?.answer || !orderRecord)
    return {
      point,
      found: { code: 'probe_no_order_made' },
      settings: {},
      ask: { code: 'probe_ask_order_made' },
      evidence: [],
    };
  const leaves = leavesOf(jsonOf(order));
  const expected = Number(orderTotal(orderRecord.items as OrderItem[]));
  const first = (fits: (leaf: { place: string; value: unknown }) => boolean, name: RegExp) => {
    const all = leaves.filter(fits).map(({ place }) => place);
    return all.find((place) => name.test(lastName(place))) ?? all[0];
  };
  const id = orderIdPlace(evidence);
  const total = first(({ value }) => value === expected, /total|amount|sum/i);
  const createdAt = first(({ value }) => typeof value === 'string' && instant.test(value), /creat/i);
  const state = first(
    ({ place, value }) => typeof value === 'string' && /(status|state)$/i.test(lastName(place)),
    /^(status|state)$/i,
  );
  const stateValue = state && valueAt(jsonOf(order), state);
  const isProven = provenPlace(evidence, 'order') !== undefined;
  const places = { id, total, createdAt, state };
  const missing = (['id', 'total', 'createdAt', 'state'] as const).filter((name) => places[name] === undefined);
  return {
    point,
    found: { code: 'probe_order_id', place: id ?? null, isProven },
    settings: {
      'service.endpoints.createOrder.successStatus': order.answer.status,
      ...(id ? { 'service.acknowledgement.orderId': id } : {}),
      ...(state ? { 'service.acknowledgement.orderState': state } : {}),
      ...(total ? { 'service.acknowledgement.orderTotal': total } : { 'service.checkTotal': 'off' }),
      ...(createdAt ? { 'service.acknowledgement.orderCreatedAt': createdAt } : {}),
      ...(typeof stateValue === 'string' && oneWord.test(stateValue) ? { 'service.states.order': [stateValue] } : {}),
    },
    ask: missing.length === 0 ? null : { code: 'probe_ask_order_fields', missing, total: expected },
    evidence: [inShort(order), ...reads.filter(({ entity }) => entity === 'order').map(({ read }) => inShort(read))],
  };
}

function ofCustomer(evidence: ProbeEvidence): Finding {
  const { customer, reads } = evidence;
  const point = { code: 'probe_of_customer_made' } as const;
  if (!customer?.answer)
    return {
      point,
      found: { code: 'probe_no_customer_made' },
      settings: {},
      ask: { code: 'probe_ask_customer_made' },
      evidence: [],
    };
  const body = jsonOf(customer);
  const place = customerIdPlace(evidence);
  const isCode = place !== undefined && lastName(place) === 'customer_code';
  const ownId: ProbeFact = place ? { code: 'probe_customer_id', place } : { code: 'probe_customer_unnamed' };
  const state = leavesOf(body).find(({ place: at }) => /^(status|state)$/i.test(lastName(at)))?.place;
  return {
    point,
    found: isCode ? { code: 'probe_customer_by_code' } : ownId,
    settings: {
      'service.endpoints.createCustomer.successStatus': customer.answer.status,
      ...(place ? { 'service.acknowledgement.customerId': place } : {}),
      ...(state ? { 'service.acknowledgement.customerState': state } : {}),
    },
    ask: null,
    evidence: [
      inShort(customer),
      ...reads.filter(({ entity }) => entity === 'customer').map(({ read }) => inShort(read)),
    ],
  };
}
