import type { ServiceSettings } from '../config/sections/service.js';
import type { EndpointName } from '../config/sections/service-endpoints.js';
import { type CustomerRecord, type Entity, type JsonValue, type OrderItem, orderTotal } from '../model/record.js';
import { endpointNames, idIsCode } from './endpoints.js';
import type { Gate } from './exchange.js';
import type { VerdictRequest } from './judge.js';
import type { TransportRequest } from './wire/transport.js';

/** Puts fields of the record and what the service acknowledged into a path template, percent-encoded so that no value can leave its place. */
export function fillPath(
  template: string,
  fields: { [name: string]: JsonValue },
): { filled: string } | { problem: string } {
  let problem: string | null = null;
  const filled = template.replace(/\{([^}]+)\}/g, (_, name: string) => {
    const found = Object.hasOwn(fields, name) ? fields[name] : null;
    const value = typeof found === 'string' || typeof found === 'number' ? String(found) : '';
    if (value === '')
      problem ??= `The path ${template} needs ${name}, which the record lacks or the service has not acknowledged.`;
    // An address with a segment of dots is another address, however they are encoded.
    else if (/^\.{1,2}$/.test(value)) problem ??= `${name} is "${value}", which can't stand in the path ${template}.`;
    return encodeURIComponent(value);
  });
  return problem === null ? { filled } : { problem };
}

/** What is needed to send one message: frozen bytes and their key, never something to compose. */
export interface SendRequest {
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
  /** The id that the service gave; null before the create is acknowledged. */
  serviceId: string | null;
  /** Lets everything else pass that waits for a slot. */
  isPatient?: boolean;
  /** It goes to see whether a service that is down is back: once, without resends. */
  isProbe?: boolean;
  gate: Gate;
}

export interface ComposedRequest {
  endpoint: EndpointName;
  request: TransportRequest;
  /** What its answer has to say. */
  expected: VerdictRequest;
  /** The id that the record is known by before the answer; null: it has none yet. */
  knownId: string | null;
  record: CustomerRecord & { items?: OrderItem[] };
}

/** Where a message goes, with which headers, and what must come back. Pure. `problem`: why it can't be sent as it is. */
export function composeRequest(
  service: Pick<ServiceSettings, 'acknowledgement' | 'endpoints' | 'idempotency' | 'maxRequestBytes'>,
  message: SendRequest,
): ComposedRequest | { problem: string } {
  const { entity, operation, serviceId } = message;
  const record = JSON.parse(message.record) as ComposedRequest['record'];
  const name = endpointNames[entity][operation];
  const endpoint = service.endpoints[name];
  // A customer is known by its own code, unless the service gives ids.
  const isKnownByCode = entity === 'customer' && idIsCode(service.acknowledgement);
  const customerCode = isKnownByCode ? (serviceId ?? record.customer_code) : record.customer_code;
  const orderId = entity === 'order' ? serviceId : null;
  const path = fillPath(endpoint.path, { ...record, order_id: orderId, customer_code: customerCode, id: serviceId });
  if ('problem' in path) return path;
  const { idempotency, maxRequestBytes } = service;
  const bytes = Buffer.byteLength(message.body);
  if (bytes > maxRequestBytes)
    return {
      problem: `It is ${bytes} bytes large, and the service takes ${maxRequestBytes} (service.maxRequestBytes).`,
    };

  const hasBody = operation !== 'delete';
  const key = idempotency.quoted ? `"${message.idempotencyKey}"` : message.idempotencyKey;
  const knownId = isKnownByCode ? customerCode : serviceId;
  return {
    endpoint: name,
    request: {
      method: (message.method as TransportRequest['method'] | null | undefined) ?? endpoint.method,
      path: path.filled,
      headers: {
        ...(hasBody ? { 'Content-Type': 'application/json' } : {}),
        ...(message.keyField ? {} : { [idempotency.header]: key }),
      },
      ...(hasBody ? { body: message.body } : {}),
      priority: message.isPatient ? -1 : 0,
      isProbe: message.isProbe ?? false,
      gate: message.gate,
    },
    expected: {
      entity,
      operation,
      // A replayed create is answered with the id it had, whatever is bound by now.
      expectedId: operation === 'create' && !isKnownByCode ? null : knownId,
      successStatus: endpoint.successStatus,
      expectedTotal: hasBody && record.items ? orderTotal(record.items) : null,
    },
    knownId,
    record,
  };
}
