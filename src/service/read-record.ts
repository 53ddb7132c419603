import type { ServiceSettings } from '../config/sections/service.js';
import { type Entity, type JsonValue, type OrderItem, orderTotal, valueAt } from '../model/record.js';
import { readOrderAnswer } from './acknowledgement.js';
import { fillPath } from './compose-request.js';
import { besides, customerEndpoint, expectFinding, lookUpAddress } from './look-up.js';
import { parseJson } from './parse-json.js';
import type { ReadQuestion } from './service-client.js';

type Fields = { [name: string]: JsonValue };

/** What the service shows of one record. */
export type ShownRecord =
  /** `total` in the service's unit; null: neither said nor to be added up. */
  | { kind: 'shown'; fields: Fields; total: bigint | null }
  /** The service says that it has no such record. */
  | { kind: 'absent' };

/** A record that the service is known to have. */
export interface BoundRecord {
  entity: Entity;
  serviceId: string;
  /** As it was sent last; null: not known. */
  record: Fields | null;
  /** Of its create; null: not known any more. */
  idempotencyKey: string | null;
}

/** How the service is asked for all that it holds of one record; `problem`: why it can't be. Pure. */
export function recordQuestion(
  service: Pick<ServiceSettings, 'acknowledgement' | 'adoption' | 'endpoints'>,
  { entity, serviceId, record, idempotencyKey }: BoundRecord,
): ReadQuestion<ShownRecord> | { problem: string } {
  const { acknowledgement, endpoints } = service;
  if (entity === 'order' && endpoints.readOrder) {
    const { path, successStatus, absentStatus } = endpoints.readOrder;
    const address = fillPath(path, { order_id: serviceId, id: serviceId });
    if ('problem' in address) return address;
    return {
      endpoint: 'readOrder',
      path: address.filled,
      query: {},
      answers: [successStatus, absentStatus],
      read: (status, body) => {
        if (status === absentStatus) return absentIn(body);
        const said = readOrderAnswer(acknowledgement, serviceId, body);
        if (typeof said === 'string') return said;
        const fields = besides(parseJson(body) as Fields, acknowledgement.orderId);
        return { kind: 'shown', fields, total: said.total === null ? totalOf(fields) : BigInt(said.total) };
      },
    };
  }
  const endpoint = entity === 'order' ? endpoints.lookUpOrder : customerEndpoint(service);
  if (!endpoint) return { problem: 'the settings name no way to read an order (service.endpoints.readOrder)' };
  // A customer whose content was erased can still be asked for by its code.
  const asked = record ?? (entity === 'customer' ? { customer_code: serviceId } : null);
  if (asked === null) return { problem: 'what was sent of it is not known any more, and the look-up asks by it' };
  const address = lookUpAddress(endpoint, asked, idempotencyKey ?? '');
  if ('problem' in address) return address;
  const { answers, read } = expectFinding(endpoint, entity, asked, idempotencyKey ?? '');
  const ofCustomer = endpoints.lookUpCustomer ? 'lookUpCustomer' : 'readCustomer';
  return {
    endpoint: entity === 'order' ? 'lookUpOrder' : ofCustomer,
    ...address,
    answers,
    read: (status, body) => {
      const finding = read(status, body);
      if (typeof finding === 'string') return finding;
      if (finding.kind === 'odd') return finding.reason;
      if (finding.kind === 'several') return `the service shows ${finding.count} such records`;
      if (finding.kind === 'none') return absentIn(body);
      if (finding.serviceId !== serviceId) return `the service shows ${finding.serviceId}, not ${serviceId}`;
      const { shown, total } = finding;
      return { kind: 'shown', fields: shown, total: total === null ? totalOf(shown) : BigInt(total) };
    },
  };
}

/** A page for people, or nothing, may come from a gateway that has lost the service behind it. */
function absentIn(body: string): ShownRecord | string {
  const value = parseJson(body);
  return typeof value === 'object' && value !== null ? { kind: 'absent' } : 'the body is no JSON object';
}

function totalOf(fields: Fields): bigint | null {
  const { items } = fields;
  const whole = (item: unknown, name: string) => Number.isSafeInteger(valueAt(item, name));
  if (!Array.isArray(items) || !items.every((item) => whole(item, 'qty') && whole(item, 'price'))) return null;
  return orderTotal(items as OrderItem[]);
}
