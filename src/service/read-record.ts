import type { ServiceSettings } from '../config/sections/service.js';
import type { Fact } from '../model/facts/fact.js';
import { outside } from '../model/outside.js';
import { type Entity, type JsonValue, type OrderItem, orderTotal, valueAt } from '../model/record.js';
import { Unusable } from '../model/verdict.js';
import { acknowledgementPlaces, readOrderAnswer } from './acknowledgement.js';
import { isDecimal, whyNoAmount } from './amount.js';
import { fillPath } from './compose-request.js';
import { besides, customerEndpoint, expectFinding, lookUpAddress } from './look-up.js';
import type { ReadQuestion } from './service-client.js';

type Fields = { [name: string]: JsonValue };

/** The service's fields of one record. */
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
  /** The key of its create; null: not known any more. */
  idempotencyKey: string | null;
}

/** The request for all that the service holds of one record; `problem`: the reason why it can't be made. Pure. */
export function recordQuestion(
  service: Pick<ServiceSettings, 'acknowledgement' | 'adoption' | 'checkTotal' | 'endpoints'>,
  { entity, serviceId, record, idempotencyKey }: BoundRecord,
): ReadQuestion<ShownRecord> | { problem: Fact } {
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
      places: acknowledgementPlaces(acknowledgement, 'order'),
      read: (status, json) => {
        if (status === absentStatus) return absentIn(json);
        const said = readOrderAnswer(service, serviceId, json);
        if (said instanceof Unusable) return said;
        return shownRecord(besides(json as Fields, acknowledgement.orderId), said.total);
      },
    };
  }
  const endpoint = entity === 'order' ? endpoints.lookUpOrder : customerEndpoint(service);
  if (!endpoint) return { problem: { code: 'no_way_to_read_orders' } };
  // A customer whose content was erased can still be asked for by its code.
  const asked = record ?? (entity === 'customer' ? { customer_code: serviceId } : null);
  if (asked === null) return { problem: { code: 'content_unknown' } };
  const address = lookUpAddress(endpoint, asked, idempotencyKey ?? '');
  if ('problem' in address) return address;
  const { answers, places, read } = expectFinding(endpoint, entity, asked, idempotencyKey ?? '');
  const ofCustomer = endpoints.lookUpCustomer ? 'lookUpCustomer' : 'readCustomer';
  return {
    endpoint: entity === 'order' ? 'lookUpOrder' : ofCustomer,
    ...address,
    answers,
    places,
    read: (status, json, body) => {
      const finding = read(status, json, body);
      if (finding instanceof Unusable) return finding;
      if (finding.kind === 'odd') return new Unusable(finding.reason);
      if (finding.kind === 'several') return new Unusable({ code: 'several_shown', count: finding.count });
      if (finding.kind === 'none') return absentIn(json);
      if (finding.serviceId !== serviceId)
        return new Unusable({ code: 'other_record', found: outside(finding.serviceId, 255), expected: serviceId });
      return shownRecord(finding.shown, finding.total);
    },
  };
}

/** A page for people, or nothing, may come from a gateway that has lost the service behind it. */
function absentIn(value: unknown): ShownRecord | Unusable {
  const isJson = typeof value === 'object' && value !== null;
  return isJson ? { kind: 'absent' } : new Unusable({ code: 'no_json_object' });
}

/** The service's values; amounts in another unit than ours can't be compared. */
function shownRecord(fields: Fields, total: number | null): ShownRecord | Unusable {
  const prices = Array.isArray(fields.items) ? fields.items.map((item) => valueAt(item, 'price')) : [];
  const decimal = prices.find(isDecimal);
  const problem = decimal === undefined ? null : whyNoAmount(decimal, 'items.price');
  if (problem !== null) return new Unusable(problem);
  return { kind: 'shown', fields, total: total === null ? totalOf(fields) : BigInt(total) };
}

function totalOf(fields: Fields): bigint | null {
  const { items } = fields;
  const whole = (item: unknown, name: string) => Number.isSafeInteger(valueAt(item, name));
  if (!Array.isArray(items) || !items.every((item) => whole(item, 'qty') && whole(item, 'price'))) return null;
  return orderTotal(items as OrderItem[]);
}
