import { hash } from 'node:crypto';
import stringify from 'safe-stable-stringify';
import type { Settings } from '../../config/settings.js';
import type { Entity, JsonValue } from '../../model/record.js';
import { sweepAtNextPass } from '../../store/job-runs.js';
import { updateRows } from '../../store/rows.js';
import type { Tx } from '../../store/store.js';

/**
 * JSON with sorted names: the same record gives the same bytes, whatever the order of the mapping.
 * The bytes of a create must be reproducible after the store was lost, or the service would answer
 * "key reused with another body".
 */
export function canonicalJson(value: JsonValue): string {
  const text = stringify(value);
  if (text === undefined) throw new Error('Only JSON values have a canonical form.');
  return text;
}

const contents = new WeakMap<object, { json: string; hash: string }>();

/** The canonical JSON of a mapped record and its hash: made once, for all who ask on the record's way. It is never changed. */
export function contentOf(record: JsonValue & object): { json: string; hash: string } {
  let content = contents.get(record);
  if (content === undefined) {
    const json = canonicalJson(record);
    content = { json, hash: sha256(json) };
    contents.set(record, content);
  }
  return content;
}

/** SHA-256 of a text as lower-case hex. */
export function sha256(text: string): string {
  return hash('sha256', text);
}

/**
 * Hash of the content of a record; null: not known, and so equal to none: the next capture of the row writes an update.
 */
export type ContentHash = string | null;

/**
 * The content that the acknowledgement of a message proves: its record, unless a store that is lost may have changed it
 * since; then nothing, and the next update carries every field.
 */
export function provenRecord(contentHash: ContentHash, record: string | null): string | null {
  return contentHash === null ? null : record;
}

/** Doubts the fields of these records, which only exist for certain: a sweep at the next pass compares them with the ERP. */
export async function doubtContents(tx: Tx, messages: readonly { id: number; entity: Entity }[]): Promise<void> {
  await setContentHashes(
    tx,
    messages.map(({ id }) => ({ id, contentHash: null })),
  );
  for (const entity of new Set(messages.map((message) => message.entity))) await sweepAtNextPass(tx, entity);
}

/** The content with which capture compares the next rows of these records. */
export async function setContentHashes(
  tx: Tx,
  messages: readonly { id: number; contentHash: ContentHash }[],
): Promise<void> {
  await updateRows(
    tx,
    'outbox_message',
    ['id'],
    messages.map(({ id, contentHash }) => ({ id, content_hash: contentHash })),
  );
}

/** A hash over everything in the settings that decides what a record looks like: a change of it is no change in the ERP. */
export function mappingFingerprint(settings: Settings, entity: Entity): string {
  return hashOf({ ...mappingOf(settings, entity), ...(entity === 'order' && finderOfCustomer(settings)) });
}

/**
 * The fingerprint that an earlier Waybill made of the same settings. Records keep it until a sweep meets them: an
 * upgrade is no change of the mapping. When `mappingFingerprint` changes, what it was is kept here.
 */
export function formerFingerprint(settings: Settings, entity: Entity): string {
  return hashOf(mappingOf(settings, entity));
}

/** The known content of a record, under today's fingerprint also where an earlier Waybill gave the same mapping another one. */
export function underFingerprint<Known extends { mappingFingerprint: string }>(
  fingerprint: string,
  settings: Settings,
  entity: Entity,
  known: Known | null,
): Known | null {
  if (known === null || known.mappingFingerprint === fingerprint) return known;
  const isFormer = known.mappingFingerprint === formerFingerprint(settings, entity);
  return isFormer ? { ...known, mappingFingerprint: fingerprint } : known;
}

function mappingOf({ customers, orders, amounts, erp }: Settings, entity: Entity): object {
  const common = { amounts, timeZone: erp.timeZone };
  const { query, fields } = customers;
  if (entity === 'customer') return { ...common, query, fields };
  const { query: asked, fields: named, number, lines, currency } = orders;
  // An order takes its customer's code from the customer.
  return { ...common, query: asked, fields: named, number, lines, currency, customer: fields?.customer_code };
}

/** The part that decides which customer's code an order carries. */
function finderOfCustomer({ customers, orders }: Settings): object {
  if (customers.send === 'none') return {};
  return { customerKey: orders.customerKey, customers: { query: customers.query, key: customers.key } };
}

function hashOf(mapping: object): string {
  return sha256(canonicalJson(JSON.parse(JSON.stringify(mapping))));
}
