import type { Settings } from '../../config/settings.js';
import type { Entity } from '../../model/record.js';
import { canonicalJson, sha256 } from '../outbox/content-hash.js';

/** A hash over everything in the settings that decides what a record looks like: a change of it is no change in the ERP. */
export function mappingFingerprint({ customers, orders, amounts, erp }: Settings, entity: Entity): string {
  const common = { amounts, timeZone: erp.timeZone };
  const { query, fields } = customers;
  const customer = { query, fields };
  const { query: asked, fields: named, number, lines, currency } = orders;
  // An order takes its customer's code from the customer.
  const order = { query: asked, fields: named, number, lines, currency, customer: fields?.customer_code };
  return sha256(canonicalJson(JSON.parse(JSON.stringify({ ...common, ...(entity === 'order' ? order : customer) }))));
}
