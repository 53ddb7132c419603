import type { ServiceSettings } from '../config/sections/service.js';
import type { EndpointName } from '../config/sections/service-endpoints.js';
import type { Fact } from '../model/facts/fact.js';
import { outside } from '../model/outside.js';
import { placeholder } from '../model/placeholder.js';
import {
  type CustomerRecord,
  type Entity,
  idIsCode,
  idIsOurs,
  type JsonValue,
  type OrderItem,
  orderTotal,
} from '../model/record.js';
import type { Delivered } from '../model/verdict.js';
import { endpointNames, expectAcknowledgement } from './acknowledgement.js';
import type { Expectation } from './judge.js';
import { customerInAnswer } from './look-up.js';
import type { TransportRequest } from './wire/transport.js';
import type { Gate } from './wire/wire-exchange.js';

/** Puts fields of the record and what the service acknowledged into a path template, percent-encoded so that no value can leave its place. */
export function fillPath(
  template: string,
  fields: { [name: string]: JsonValue },
): { filled: string } | { problem: Fact } {
  let problem: Fact | null = null;
  const filled = template.replace(placeholder, (_, name: string) => {
    const found = Object.hasOwn(fields, name) ? fields[name] : null;
    const value = typeof found === 'string' || typeof found === 'number' ? String(found) : '';
    if (value === '') problem ??= { code: 'path_field_missing', path: template, field: name };
    // An address with a segment of dots is another address, however they are encoded.
    else if (/^\.{1,2}$/.test(value))
      problem ??= { code: 'path_field_dots', path: template, field: name, value: outside(value) };
    return encodeURIComponent(value);
  });
  return problem === null ? { filled } : { problem };
}

/** The gate of a request right before it leaves, and its priority. */
export interface Passage {
  gate: Gate;
  /** Higher goes first; what is sent has 0, and what is in no hurry -1. */
  priority?: number;
  /** It goes to see whether a service that is down is back: once, without resends. */
  isProbe?: boolean;
}

/** The parts needed to send one message: frozen bytes and their key, never something to compose. */
export interface SendRequest extends Passage {
  entity: Entity;
  operation: 'create' | 'update' | 'delete';
  idempotencyKey: string;
  /** The method that was frozen with the bytes; absent or null: the endpoint's. */
  method?: string | null;
  /** The frozen bytes. */
  body: string;
  /** The field of these bytes that carries the key; absent or null: a header carries it. */
  keyField?: string | null;
  /** The mapped record as JSON, to check the acknowledgement against. */
  record: string;
  /** The total of this record's lines; absent or null: they are added up. */
  total?: string | null;
  /** The id that the service gave; null before the create is acknowledged. */
  serviceId: string | null;
  /** An earlier request with this key may have taken effect; absent: none may. */
  isRepeated?: boolean;
}

export interface ComposedRequest<Answer> {
  endpoint: EndpointName;
  request: Omit<TransportRequest, keyof Passage>;
  expected: Expectation<Answer>;
  /** The record's name before the answer. */
  knownIds: readonly (JsonValue | undefined)[];
}

/** The id that an update gives to a record, where that is a field of ours and another one than the service knows it by. */
function newIdIn(
  { entity, serviceId, body }: Pick<SendRequest, 'entity' | 'serviceId' | 'body'>,
  places: ServiceSettings['acknowledgement'],
): string | null {
  const field = entity === 'customer' ? 'customer_code' : 'note';
  // A change says only what differs, and rarely this. To read it takes long.
  if (serviceId === null || !idIsOurs(places, entity) || !body.includes(`"${field}"`)) return null;
  const id = (JSON.parse(body) as { [name: string]: unknown })[field];
  return typeof id === 'string' && id !== serviceId ? id : null;
}

/** The total that the service has to acknowledge, in minor units; null: it is not compared. */
function totalToExpect(total: string | null, items: readonly OrderItem[] | undefined): bigint | null {
  if (total !== null) return BigInt(total);
  return items ? orderTotal(items) : null;
}

/** The address of a message, its headers, and the answer that it needs. Pure. `problem`: why it can't be sent as it is. */
export function composeRequest(
  service: Pick<
    ServiceSettings,
    'acknowledgement' | 'adoption' | 'checkTotal' | 'endpoints' | 'idempotency' | 'maxRequestBytes'
  >,
  message: Omit<SendRequest, 'gate'>,
): ComposedRequest<Delivered> | { problem: Fact } {
  const { entity, operation, serviceId } = message;
  const name = endpointNames[entity][operation];
  const endpoint = service.endpoints[name];
  const total = message.total ?? null;
  // To read the record of an order takes as long as all that else is done here.
  const isRead = entity === 'customer' || total === null || endpoint.path.includes('{');
  const record = JSON.parse(isRead ? message.record : '{}') as CustomerRecord & { items?: OrderItem[] };
  // A customer is known by its own code, unless the service gives ids.
  const isKnownByCode = entity === 'customer' && idIsCode(service.acknowledgement);
  const customerCode = isKnownByCode ? (serviceId ?? record.customer_code) : record.customer_code;
  const orderId = entity === 'order' ? serviceId : null;
  // Most paths of a create name no field, and a copy of the record takes longer than all the rest.
  const path = endpoint.path.includes('{')
    ? fillPath(endpoint.path, { ...record, order_id: orderId, customer_code: customerCode, id: serviceId })
    : { filled: endpoint.path };
  if ('problem' in path) return path;
  const { idempotency, maxRequestBytes } = service;
  const bytes = Buffer.byteLength(message.body);
  if (bytes > maxRequestBytes) return { problem: { code: 'request_too_large', bytes, limit: maxRequestBytes } };

  const hasBody = operation !== 'delete';
  const key = idempotency.quoted ? `"${message.idempotencyKey}"` : message.idempotencyKey;
  const headers: Record<string, string> = {};
  if (hasBody) headers['Content-Type'] = 'application/json';
  if (!message.keyField) headers[idempotency.header] = key;
  const knownId = isKnownByCode ? customerCode : serviceId;
  const expected = expectAcknowledgement(service, {
    entity,
    operation,
    // A replayed create is answered with the id it had, whatever is bound by now.
    expectedId: operation === 'create' && !isKnownByCode ? null : knownId,
    newId: operation === 'update' ? newIdIn(message, service.acknowledgement) : null,
    successStatus: endpoint.successStatus,
    isRepeated: message.isRepeated ?? false,
    expectedTotal: hasBody ? totalToExpect(total, record.items) : null,
  });
  if (entity === 'customer' && operation === 'create')
    expected.existing = (body) => customerInAnswer(service, { ...record }, body);
  return {
    endpoint: name,
    request: {
      method: (message.method as TransportRequest['method'] | null | undefined) ?? endpoint.method,
      path: path.filled,
      headers,
      ...(hasBody ? { body: message.body } : {}),
    },
    expected,
    knownIds: [knownId],
  };
}
