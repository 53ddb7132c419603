import { type KnownInvoice, knownInvoices } from '../inbound/invoices/list-invoices.js';
import type { NamedAs } from '../model/facts/actions.js';
import type { Fact } from '../model/facts/fact.js';
import { Refused } from '../model/facts/failure.js';
import { type Entity, entities, keyInSource, sourceOf } from '../model/record.js';
import { placeholders } from '../store/rows.js';
import type { Tx } from '../store/store.js';

/**
 * The only place that reads the names people give to records. One text may be the ERP's key of one
 * order, the number of another and the key of a customer. A reader shows all that match
 * (`recordsNamed`); an action takes a name that fits one record only (`recordsMeant`, `keysMeant`).
 */

export interface FoundRecord {
  entity: Entity;
  sourceKey: string;
  number: string | null;
}

/** A record that a text names. */
export interface NamedRecord extends FoundRecord {
  as: NamedAs[];
}

/** `number` is what people know: the number of an order, the code of a customer. `any` is either, and failing both the service's id. */
export const findBys = ['any', 'key', 'number'] as const;
export type FindBy = (typeof findBys)[number];

/** The places where a name is looked up. */
export interface Naming {
  by: FindBy;
  /** Undefined: customers and orders. */
  entity?: Entity | undefined;
  /** The source that a person named, which then calls the keys by its own names. Undefined: all sources. */
  source?: string | undefined;
  /** All sources of the settings. */
  sources: readonly string[];
}

/** Matches worth listing. */
const maxFound = 50;

/** The records that each name fits, in the order of the names. A name that fits none has an empty list. */
export async function recordsNamed(
  tx: Tx,
  names: readonly string[],
  naming: Naming,
): Promise<Map<string, NamedRecord[]>> {
  const { by, entity: only, source } = naming;
  const all = new Map(names.map((name) => [name, [] as NamedRecord[]]));
  if (all.size === 0) return all;
  const asked = [...all.keys()];
  for (const entity of only === undefined ? entities : [only]) {
    const add = (name: string, sourceKey: string, as: NamedAs) => {
      if (source === undefined || sourceOf(sourceKey) === source) addFound(all.get(name), { entity, sourceKey }, as);
    };
    if (by !== 'number') for (const [name, key] of await keyed(tx, entity, asked, naming)) add(name, key, 'key');
    if (by !== 'key')
      for (const [name, key] of entity === 'order' ? await numbered(tx, asked) : await coded(tx, asked))
        add(name, key, entity === 'order' ? 'number' : 'code');
    // An id of the service is what people name least.
    const isKnown = (name: string) => all.get(name)?.some((one) => one.entity === entity);
    const unknown = by === 'any' ? asked.filter((name) => !isKnown(name)) : [];
    for (const [name, key] of await identified(tx, entity, unknown)) add(name, key, 'id');
  }
  const orders = [...all.values()].flat().filter((one) => one.entity === 'order');
  const numbers = await numbersOf(tx, orders);
  for (const one of orders) one.number = numbers.get(one.sourceKey) ?? null;
  return all;
}

/** The records that one name fits. */
export async function findRecords(tx: Tx, name: string, naming: Naming): Promise<NamedRecord[]> {
  return (await recordsNamed(tx, [name], naming)).get(name) ?? [];
}

function addFound(
  found: NamedRecord[] | undefined,
  { entity, sourceKey }: Pick<NamedRecord, 'entity' | 'sourceKey'>,
  as: NamedAs,
): void {
  const known = found?.find((one) => one.entity === entity && one.sourceKey === sourceKey);
  if (known === undefined) found?.push({ entity, sourceKey, number: null, as: [as] });
  else if (!known.as.includes(as)) known.as.push(as);
}

/** Records with these keys. */
async function keyed(
  tx: Tx,
  entity: Entity,
  names: readonly string[],
  naming: Naming,
): Promise<[name: string, sourceKey: string][]> {
  const namesOf = new Map<string, string[]>();
  for (const name of names)
    for (const key of keysOf(name, naming)) namesOf.set(key, [...(namesOf.get(key) ?? []), name]);
  const known = await knownKeys(tx, entity, [...namesOf.keys()]);
  return known.flatMap((key) => (namesOf.get(key) ?? []).map((name): [string, string] => [name, key]));
}

/** The keys of the store that a name may stand for: as it is written there, and as each source calls it. */
function keysOf(name: string, { source, sources }: Naming): Set<string> {
  if (source !== undefined) return new Set([keyInSource(source, name)]);
  return new Set([name, ...sources.map((one) => keyInSource(one, name))]);
}

/** Keys of which something is known. The messages of a record may be pruned, or not written yet. */
async function knownKeys(tx: Tx, entity: Entity, keys: readonly string[]): Promise<string[]> {
  const list = placeholders(keys.length);
  const tables = ['outbox_message', 'binding', 'replaced_record'].map(
    (table) => `SELECT source_key FROM ${table} WHERE entity=? AND source_key IN ${list}`,
  );
  const parameters = tables.flatMap(() => [entity, ...keys]);
  if (entity === 'order') tables.push(`SELECT source_key FROM unsettled WHERE source_key IN ${list}`);
  const sql = `${tables.join(' UNION ')} ORDER BY source_key`;
  const rows = await tx.rows<{ sourceKey: string }>(sql, entity === 'order' ? [...parameters, ...keys] : parameters);
  return rows.map(({ sourceKey }) => sourceKey);
}

/** Orders with these numbers. Those of an order whose messages are pruned stay with its binding. */
async function numbered(tx: Tx, numbers: readonly string[]): Promise<[number: string, sourceKey: string][]> {
  const of = (table: string) =>
    `SELECT number, source_key FROM ${table} WHERE entity='order' AND number IN ${placeholders(numbers.length)}`;
  // Some ERPs give many orders one number.
  const limit = numbers.length === 1 ? `LIMIT ${maxFound}` : '';
  const rows = await tx.rows<{ number: string; sourceKey: string }>(
    `${of('outbox_message')} UNION ${of('binding')} ORDER BY source_key ${limit}`,
    [...numbers, ...numbers],
  );
  return rows.map(({ number, sourceKey }) => [number, sourceKey]);
}

/** Customers with these codes, also those that the service does not have yet. Few messages are open, and their index leads to them. */
async function coded(tx: Tx, codes: readonly string[]): Promise<[code: string, sourceKey: string][]> {
  const identities = new Map(codes.map((code) => [JSON.stringify({ customer_code: code }), code]));
  const limit = codes.length === 1 ? `LIMIT ${maxFound}` : '';
  const open = await tx.rows<{ identity: string; sourceKey: string }>(
    `SELECT DISTINCT identity, source_key FROM outbox_message
      WHERE entity='customer' AND state IN ('pending','sending','in_doubt','parked')
        AND identity IN ${placeholders(codes.length)} ORDER BY source_key ${limit}`,
    [...identities.keys()],
  );
  // If the service gives ids of its own, an id says nothing of a code.
  const bound = (await boundTo(tx, 'customer', codes)).filter(
    ({ serviceId, identity }) => identity === null || identities.get(identity) === serviceId,
  );
  return [
    ...open.map(({ identity, sourceKey }): [string, string] => [identities.get(identity) ?? '', sourceKey]),
    ...bound.map(({ serviceId, sourceKey }): [string, string] => [serviceId, sourceKey]),
  ];
}

async function identified(tx: Tx, entity: Entity, ids: readonly string[]): Promise<[id: string, sourceKey: string][]> {
  return (await boundTo(tx, entity, ids)).map(({ serviceId, sourceKey }) => [serviceId, sourceKey]);
}

async function boundTo(tx: Tx, entity: Entity, ids: readonly string[]) {
  if (ids.length === 0) return [];
  return tx.rows<{ serviceId: string; sourceKey: string; identity: string | null }>(
    `SELECT service_id, source_key, identity FROM binding
      WHERE entity=? AND service_id IN ${placeholders(ids.length)} ORDER BY source_key`,
    [entity, ...ids],
  );
}

/** The newest number of each order, by its key. */
async function numbersOf(tx: Tx, orders: readonly { sourceKey: string }[]): Promise<Map<string, string>> {
  if (orders.length === 0) return new Map();
  const keys = orders.map(({ sourceKey }) => sourceKey);
  const list = placeholders(keys.length);
  const rows = await tx.rows<{ sourceKey: string; number: string }>(
    `SELECT source_key, number, -1 AS revision FROM binding WHERE entity='order' AND number IS NOT NULL AND source_key IN ${list}
      UNION ALL
     SELECT source_key, number, revision FROM outbox_message
      WHERE entity='order' AND number IS NOT NULL AND source_key IN ${list} ORDER BY revision`,
    [...keys, ...keys],
  );
  return new Map(rows.map(({ sourceKey, number }) => [sourceKey, number]));
}

/** A name that fits several records, or none exactly. Nothing is done with it before a person says which one is meant. */
export class AmbiguousName extends Refused {
  override readonly name = 'AmbiguousName';

  constructor(
    given: string,
    readonly records: readonly NamedRecord[],
  ) {
    super(ambiguity(given, records));
  }
}

const shownRecords = 10;

/** The records that a name fits, and as what. Pure. */
export function ambiguity(name: string, records: readonly NamedRecord[]): Extract<Fact, { code: 'name_ambiguous' }> {
  const some = records.slice(0, shownRecords).map(({ entity, sourceKey, number, as }) => {
    return { entity, sourceKey, number: number === sourceKey ? null : number, as: [...as] };
  });
  return { code: 'name_ambiguous', name, some, count: records.length };
}

/** As `recordsNamed`, for an action: it takes no record by an id of the service. */
export async function actedOn(tx: Tx, names: readonly string[], naming: Naming): Promise<Map<string, NamedRecord[]>> {
  const found = await recordsNamed(tx, names, naming);
  return new Map([...found].map(([name, records]) => [name, records.filter(({ as }) => as.join() !== 'id')]));
}

/**
 * The one record of each name, each record once. A name of which nothing is known is left out.
 * @throws AmbiguousName
 */
export async function recordsMeant(tx: Tx, names: readonly string[], naming: Naming): Promise<NamedRecord[]> {
  const found = await actedOn(tx, names, naming);
  const meant = new Map<string, NamedRecord>();
  for (const [name, records] of found) {
    const one = onlyRecord(name, records, naming);
    if (one === 'ambiguous') throw new AmbiguousName(name, records);
    if (one !== null) meant.set(recordName(one), one);
  }
  return [...meant.values()];
}

/** The record that a name fits, if it is one alone; null: nothing is known of it. Pure. */
export function onlyRecord(
  name: string,
  records: readonly NamedRecord[],
  { source }: Pick<Naming, 'source'>,
): NamedRecord | 'ambiguous' | null {
  const [one, second] = records;
  if (one === undefined) return null;
  if (second !== undefined) return 'ambiguous';
  // A key without its source is that of the default one, also where Waybill has not met it there yet.
  const isOfAnotherSource =
    source === undefined && one.as.join() === 'key' && sourceOf(one.sourceKey) !== sourceOf(name);
  return isOfAnotherSource ? 'ambiguous' : one;
}

/**
 * Keys of records that the ERP is asked for, where it may have rows that Waybill does not know yet: a name is a key, unless
 * `naming` says that it is a number. @throws AmbiguousName where it is the number of another record
 */
export async function keysMeant(
  tx: Tx,
  names: readonly string[],
  naming: Naming & { entity: Entity },
): Promise<string[]> {
  const { entity, source, by } = naming;
  const found = await actedOn(tx, names, naming);
  return names.flatMap((name) => {
    const records = found.get(name) ?? [];
    if (by === 'number') {
      if (records.length > 1) throw new AmbiguousName(name, records);
      return records.map(({ sourceKey }) => sourceKey);
    }
    const sourceKey = source === undefined ? name : keyInSource(source, name);
    const asKey: NamedRecord = { entity, sourceKey, number: null, as: ['key'] };
    const others = records.filter((one) => one.sourceKey !== sourceKey);
    if (by === 'any' && others.length > 0)
      throw new AmbiguousName(name, [records.find((one) => one.sourceKey === sourceKey) ?? asKey, ...others]);
    return [sourceKey];
  });
}

/** One text for a record. */
export function recordName({ entity, sourceKey }: Pick<FoundRecord, 'entity' | 'sourceKey'>): string {
  return `${entity} ${sourceKey}`;
}

/** Records in the audit: it knows keys alone, and may hold lines of records of which nothing else is left. */
export async function recordsInAudit(
  tx: Tx,
  names: readonly string[],
  naming: Naming,
): Promise<{ found: Map<string, NamedRecord[]>; records: Pick<FoundRecord, 'entity' | 'sourceKey'>[] }> {
  const found = await recordsNamed(tx, names, naming);
  const typed = naming.by === 'number' ? [] : names;
  const asKeys = typed.flatMap((sourceKey) => entities.map((entity) => ({ entity, sourceKey })));
  const records = [...asKeys, ...[...found.values()].flat()].map(({ entity, sourceKey }) => ({ entity, sourceKey }));
  return { found, records: [...new Map(records.map((one) => [recordName(one), one])).values()] };
}

/** Finds records that one text names exactly: a key of the ERP, an order number, a customer's code, an id of the service, or an invoice. */
export async function searchRecords(
  tx: Tx,
  text: string,
  sources: readonly string[],
): Promise<{ records: NamedRecord[]; invoices: KnownInvoice[] }> {
  return { records: await findRecords(tx, text, { by: 'any', sources }), invoices: await knownInvoices(tx, [text]) };
}
