import { randomUUID } from 'node:crypto';
import type { Settings } from '../../../config/settings.js';
import type { KeyPlace } from '../../../model/facts/probe.js';
import type { Entity } from '../../../model/record.js';
import { valueAt } from '../../../model/record.js';
import { fillPath } from '../../../service/compose-request.js';
import type { ProbeRequest } from '../../../service/service-client.js';
import { orderIdPlaces, valuesOf } from './decide-acknowledgement.js';
import { type Evidence, isDone, type JsonObject, jsonOf, type ProbeEvidence } from './evidence.js';

export interface RecordOptions {
  /** The prefix of the codes and notes of all test records. */
  prefix: string;
  /** Further fields of test records; null leaves a field of ours out. */
  customer: JsonObject;
  order: JsonObject;
  /** Makes orders for this one, and no customers of its own. */
  existingCustomer?: string | undefined;
}

/** A record that a probe made, or may have made. */
export interface Made {
  entity: Entity;
  /** Our name of it: a code, or a note. */
  name: string;
  record: JsonObject;
  /** null: there was no answer, so it may exist. */
  answer: Evidence | null;
}

/** Two lines whose sum is no number that turns up by chance. */
const items = [
  { sku: 'PROBE-1', qty: 3, price: 12_347 },
  { sku: 'PROBE-2', qty: 1, price: 509 },
];

/** The records that a probe makes at the service, and the form of its requests. */
export class TestRecords {
  readonly made: Made[] = [];
  #last = 0;

  constructor(
    private readonly service: Settings['service'],
    private readonly options: RecordOptions,
    private readonly evidence: ProbeEvidence,
    private readonly run: string,
  ) {}

  newKey(): string {
    return this.#own(randomUUID());
  }

  newName(): string {
    return this.#own(`${this.options.prefix}-${this.run}-${++this.#last}`);
  }

  customer(customer_code: string): JsonObject {
    return withoutNulls({ customer_code, ...this.options.customer });
  }

  order(customer_code: string): JsonObject {
    return withoutNulls({ customer_code, items, note: this.newName(), ...this.options.order });
  }

  /** A write of a record, with its key where the service may want it. */
  write(endpoint: 'createCustomer' | 'createOrder', record: JsonObject, key: string, place: KeyPlace): ProbeRequest {
    const { method, path } = this.service.endpoints[endpoint];
    const filled = fillPath(path, record);
    return withKey(
      { method, path: 'filled' in filled ? filled.filled : path, body: JSON.stringify(record) },
      key,
      place,
    );
  }

  /**
   * A read, a change or a removal of a record that an answer acknowledged; null: its id is not known.
   * @param idPlace where the answer holds the id
   */
  ofMade(
    method: 'GET' | 'PATCH' | 'PUT' | 'DELETE',
    { entity, record, answer }: Pick<Made, 'entity' | 'record' | 'answer'>,
    idPlace: string | undefined,
    body?: JsonObject,
  ): ProbeRequest | null {
    const given = answer && idPlace ? valueAt(jsonOf(answer), idPlace) : undefined;
    const id = given ?? (entity === 'customer' ? record.customer_code : undefined);
    if (!answer || (typeof id !== 'string' && typeof id !== 'number')) return null;
    this.#own(String(id));
    const order_id = entity === 'order' ? id : null;
    const path = fillPath(this.#template(method, entity), { ...record, order_id, id });
    return 'filled' in path ? { method, path: path.filled, ...(body && { body: JSON.stringify(body) }) } : null;
  }

  #template(method: ProbeRequest['method'], entity: Made['entity']): string {
    const { endpoints } = this.service;
    const ofOrder = entity === 'order';
    if (method === 'GET')
      return (ofOrder ? (endpoints.readOrder ?? endpoints.updateOrder) : endpoints.readCustomer).path;
    if (method === 'DELETE') return (ofOrder ? endpoints.deleteOrder : endpoints.deleteCustomer).path;
    return (ofOrder ? endpoints.updateOrder : endpoints.updateCustomer).path;
  }

  /** A read of an order that does not exist. */
  readMissing(): ProbeRequest {
    const id = `${this.options.prefix}-none`;
    const template = this.#template('GET', 'order');
    const path = fillPath(template, { order_id: id, id, customer_code: id });
    return { method: 'GET', path: 'filled' in path ? path.filled : template };
  }

  /** Creates of which nobody knows whether they made something. */
  get inDoubt(): number {
    return this.made.filter(({ answer }) => answer === null).length;
  }

  /** Notes what a create made, or may have made. */
  note(entity: Made['entity'], record: JsonObject, answer: Evidence): void {
    // A redirect may follow a deed.
    const isUnknown =
      !isDone(answer) && (answer.answer === null || answer.answer.status >= 500 || answer.answer.status < 400);
    if (!isDone(answer) && !isUnknown) return;
    const name = String(record[entity === 'customer' ? 'customer_code' : 'note'] ?? record.customer_code);
    const made = { entity, name, record, answer: isUnknown ? null : answer };
    if (
      this.made.some(
        (one) => one.entity === entity && this.#idOf(one) === this.#idOf(made) && one.answer && made.answer,
      )
    )
      return;
    this.made.push(made);
  }

  /** All that may be an id: a repeat that was replayed has the same in all of these places. */
  #idOf({ entity, name, record, answer }: Made): string {
    if (entity === 'customer' || answer === null) return name;
    const body = jsonOf(answer);
    const places = orderIdPlaces(body, valuesOf(record));
    return JSON.stringify(places.length === 0 ? name : places.map((place) => valueAt(body, place)));
  }

  #own(word: string): string {
    if (!this.evidence.own.includes(word)) this.evidence.own.push(word);
    return word;
  }
}

/** The same request with its key: in a header, or as a field of its body. A request without a body carries none there. */
export function withKey(request: ProbeRequest, key: string, place: KeyPlace): ProbeRequest {
  const type: Record<string, string> = request.body === undefined ? {} : { 'Content-Type': 'application/json' };
  if (place.in === 'header') return { ...request, headers: { ...type, [place.name]: place.quoted ? `"${key}"` : key } };
  if (request.body === undefined) return request;
  return { ...request, headers: type, body: JSON.stringify({ ...JSON.parse(request.body), [place.name]: key }) };
}

function withoutNulls(record: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== null));
}
