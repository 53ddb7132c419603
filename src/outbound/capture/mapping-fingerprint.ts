import type { Settings } from '../../config/settings.js';
import type { Entity } from '../../model/record.js';
import { canonicalJson, sha256 } from '../outbox/content-hash.js';
import type { KnownRecord } from './known-records.js';

/** A hash over everything in the settings that decides what a record looks like: a change of it is no change in the ERP. */
export function mappingFingerprint(settings: Settings, entity: Entity): string {
  return hashOf({ ...mappingOf(settings, entity), ...(entity === 'order' && finderOfCustomer(settings)) });
}

/**
 * What an earlier Waybill made of the same settings. Records keep it until a sweep meets them: an upgrade is no change of the
 * mapping. Whoever changes `mappingFingerprint` keeps here what it was.
 */
export function formerFingerprint(settings: Settings, entity: Entity): string {
  return hashOf(mappingOf(settings, entity));
}

/** What is known of a record, under today's fingerprint also where an earlier Waybill gave the same mapping another one. */
export function underFingerprint(
  fingerprint: string,
  settings: Settings,
  entity: Entity,
  { newest, binding }: KnownRecord,
): Pick<KnownRecord, 'newest' | 'binding'> {
  const isToday = (one: { mappingFingerprint: string } | null) =>
    one === null || one.mappingFingerprint === fingerprint;
  if (isToday(newest) && isToday(binding)) return { newest, binding };
  const former = formerFingerprint(settings, entity);
  const today = <K extends { mappingFingerprint: string }>(one: K | null) =>
    one?.mappingFingerprint === former ? { ...one, mappingFingerprint: fingerprint } : one;
  return { newest: today(newest), binding: today(binding) };
}

function mappingOf({ customers, orders, amounts, erp }: Settings, entity: Entity): object {
  const common = { amounts, timeZone: erp.timeZone };
  const { query, fields } = customers;
  if (entity === 'customer') return { ...common, query, fields };
  const { query: asked, fields: named, number, lines, currency } = orders;
  // An order takes its customer's code from the customer.
  return { ...common, query: asked, fields: named, number, lines, currency, customer: fields?.customer_code };
}

/** What decides which customer's code an order carries. */
function finderOfCustomer({ customers, orders }: Settings): object {
  if (customers.send === 'none') return {};
  return { customerKey: orders.customerKey, customers: { query: customers.query, key: customers.key } };
}

function hashOf(mapping: object): string {
  return sha256(canonicalJson(JSON.parse(JSON.stringify(mapping))));
}
