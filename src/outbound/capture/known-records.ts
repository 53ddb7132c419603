import { type ErpPage, type ErpReader, isStillThere, type ReadCustomer, type ReadOrder } from '../../erp/erp-reader.js';
import type { Fact } from '../../model/facts/fact.js';
import { firstFew, type RowFact } from '../../model/facts/rows.js';
import { type Entity, foldKey, sourceOf } from '../../model/record.js';
import type { JobContext } from '../../ops/job-context.js';
import { withFact } from '../../store/fact-columns.js';
import { boundedText, padded, placeholders } from '../../store/rows.js';
import type { Store, Tx } from '../../store/store.js';
import type { Removal } from '../outbox/message.js';
import type { ClosedBinding, KnownBinding, NewestMessage } from './next-revision.js';
import { changedIdentity } from './safety-limits.js';

export interface KnownRecord {
  newest:
    | (NewestMessage &
        KnownDetails & {
          reason: Fact | null;
          number: string | null;
          customerKey: string | null;
          idempotencyKey: string | null;
          keyField: string | null;
          presentedAs: string | null;
          removal: Removal | null;
        })
    | null;
  /** The key of its newest create, by which a service that keeps keys knows the record; null: not known any more. */
  createKey: string | null;
  /** A request about it is under way (`sending`), or may have reached the service; absent: neither. */
  unproven?: 'sending' | 'sent';
  binding: (KnownBinding & KnownDetails) | null;
  /** The binding of a record that was deleted at the service. */
  closed: ClosedBinding | null;
}

interface KnownDetails {
  mappingFingerprint: string;
  /** The columns that never change, as they were; null when they are not known. */
  identity: string | null;
}

/**
 * The facts about many records: the newest message and the bindings of each, by source key. Three queries for any
 * number of keys.
 * @param lock until the transaction ends: what was unsent must not be claimed before its successor is written, under the same key
 */
export async function knownRecords(
  tx: Tx,
  entity: Entity,
  sourceKeys: readonly string[],
  lock = false,
): Promise<Map<string, KnownRecord>> {
  const known = new Map<string, KnownRecord>(
    sourceKeys.map((key) => [key, { newest: null, createKey: null, binding: null, closed: null }]),
  );
  if (sourceKeys.length === 0) return known;
  const keys = padded([...known.keys()]);
  const listed = placeholders(keys.length);
  const note = ({ sourceKey, ...facts }: { sourceKey: string } & Partial<KnownRecord>) => {
    const record = known.get(sourceKey);
    if (record) Object.assign(record, facts);
  };
  type Row = Omit<NonNullable<KnownRecord['newest']>, 'reason'> & { sourceKey: string };
  const messages = await tx.rows<Row>(
    `SELECT id, source_key, revision, operation, generation, state, park_class, content_hash, was_sent, first_sent_at, found_at, reason_code, reason_data,
            number, customer_key, idempotency_key, key_field, presented_as, mapping_fingerprint, identity, removal
       FROM outbox_message
      WHERE entity=? AND source_key IN ${listed}
      ORDER BY revision${lock ? tx.forUpdate : ''}`,
    [entity, ...keys],
  );
  for (const { sourceKey, ...message } of messages) {
    const newest = withFact(message, 'reason');
    const { state, parkClass, operation, idempotencyKey } = newest;
    const mayBeThere =
      newest.wasSent === 1 && parkClass !== 'refused' && ['pending', 'parked', 'discarded'].includes(state);
    const isDoubted = mayBeThere || (state === 'parked' && (parkClass === 'conflict' || parkClass === 'unproven'));
    const sent = isDoubted || state === 'in_doubt' ? 'sent' : undefined;
    const unproven = state === 'sending' ? state : sent;
    const created = operation === 'create' ? { createKey: idempotencyKey } : {};
    note({
      sourceKey,
      newest,
      ...created,
      ...(unproven && known.get(sourceKey)?.unproven !== 'sending' && { unproven }),
    });
  }
  const bindings = await tx.rows(
    `SELECT b.source_key, b.revision, b.generation, b.content_hash, b.mapping_fingerprint, b.identity,
            a.adopted_at, a.differs, a.reviewed_at
       FROM binding b LEFT JOIN adoption a ON a.entity=b.entity AND a.source_key=b.source_key
      WHERE b.entity=? AND b.source_key IN ${listed}`,
    [entity, ...keys],
  );
  for (const { sourceKey, adoptedAt, differs, reviewedAt, ...binding } of bindings) {
    const adoption = adoptedAt === null ? null : { differs: JSON.parse(differs), isReviewed: reviewedAt !== null };
    note({ sourceKey, binding: { ...binding, adoption } });
  }
  const closed = await tx.rows<{ sourceKey: string } & ClosedBinding>(
    `SELECT source_key, revision, generation FROM closed_binding WHERE entity=? AND source_key IN ${listed}`,
    [entity, ...keys],
  );
  for (const { sourceKey, ...one } of closed) note({ sourceKey, closed: one });
  return known;
}

/** The content that the service last acknowledged of these records, as canonical JSON by source key. */
export async function acknowledgedRecords(
  tx: Tx,
  entity: Entity,
  sourceKeys: readonly string[],
): Promise<Map<string, string>> {
  if (sourceKeys.length === 0) return new Map();
  const rows = await tx.rows<{ sourceKey: string; acknowledged: string }>(
    `SELECT source_key, acknowledged FROM binding
      WHERE entity=? AND acknowledged IS NOT NULL AND source_key IN ${placeholders(sourceKeys.length)}`,
    [entity, ...sourceKeys],
  );
  return new Map(rows.map((row) => [row.sourceKey, row.acknowledged]));
}

/**
 * Under many collations the ERP's database calls 'a-5' and 'A-5 ' the same key, and a person may correct the one to the
 * other. The store compares letter by letter: it would take the respelled row for a new record, and send it a second
 * time. A row therefore goes on under the key that its record was captured with.
 */

/** The key that a row's record is known under; `unclear` says why it can't be told. Null: the ERP changed the row meanwhile. */
type KnownAs = { key: string; unclear: RowFact | null } | null;

type Candidates = ReadonlyMap<string, readonly string[]>;

/** Known keys that may be other spellings of keys that are not known: one query, whatever the number of keys. */
async function otherSpellings(
  tx: Tx,
  entity: Entity,
  keys: readonly string[],
): Promise<{ candidates: Candidates; isNew: (key: string) => boolean }> {
  const folded = new Map(keys.map((key) => [key, [key, withoutZeros(key)].map(foldKey)]));
  const wanted = padded([...new Set([...folded.values()].flat())]);
  // A create that was closed unsent may have been taken for new before the store knew the other spelling.
  const isOpen =
    "CASE WHEN operation='create' AND state IN ('superseded','discarded') AND was_sent=0 THEN 0 ELSE 1 END";
  // A record that waits for a person, or was closed unsent, may still be a known record under another key
  // (`renamedOrders`).
  const isTaken = "CASE WHEN was_sent=0 AND state IN ('parked','superseded','discarded') THEN 0 ELSE 1 END";
  // The CASE keeps SQLite from reading every record of the entity, of which it expects few.
  const select = (table: string, open: string, taken: string) =>
    `SELECT source_key, folded_key, ${open} AS is_open, ${taken} AS is_taken FROM ${table} WHERE folded_key IN ${placeholders(wanted.length)} AND CASE WHEN entity=? THEN 1 ELSE 0 END=1`;
  const rows = await tx.rows<{ sourceKey: string; foldedKey: string; isOpen: 0 | 1; isTaken: 0 | 1 }>(
    `${select('binding', '1', '1')} UNION ${select('outbox_message', isOpen, isTaken)} ORDER BY source_key`,
    [...wanted, entity, ...wanted, entity],
  );
  const known = new Map<string, Set<string>>();
  for (const { sourceKey, foldedKey } of rows) known.set(foldedKey, (known.get(foldedKey) ?? new Set()).add(sourceKey));
  const open = new Set(rows.flatMap((row) => (row.isOpen ? [row.sourceKey] : [])));
  const candidates = [...folded].map(([key, folds]) => {
    const others = new Set(folds.flatMap((fold) => [...(known.get(fold) ?? [])]));
    others.delete(key);
    return [key, [...others]] as const;
  });
  const respelled = new Map(candidates.filter(([key, others]) => others.length > 0 && !open.has(key)));
  const taken = new Set(rows.flatMap((row) => (row.isTaken ? [row.sourceKey] : [])));
  return { candidates: respelled, isNew: (key) => !taken.has(key) };
}

/** A column of whole numbers that becomes a DECIMAL writes 7 as 7.00. */
function withoutZeros(key: string): string {
  return key.includes('.0') ? key.replace(/(?<=\d)\.0+(?=~|$)/g, '') : key;
}

/** Asks the ERP which of the candidates it calls equal. Keys that are left out are new ones. */
async function settle(reader: ErpReader, entity: Entity, candidates: Candidates): Promise<Map<string, KnownAs>> {
  if (candidates.size === 0) return new Map();
  const asked = [...new Set([...candidates.keys(), ...[...candidates.values()].flat()])];
  const rowsEqualTo = await reader.equalKeys(entity, asked);
  const settled = new Map<string, KnownAs>();
  for (const [key, others] of candidates) {
    const decided = knownAs(key, others, rowsEqualTo);
    if (decided !== undefined) settled.set(key, decided);
  }
  return settled;
}

/**
 * Pure. @param others known keys that may be the same
 * @param rowsEqualTo keys of the rows that the ERP has for each of them, all read at one moment
 * @returns undefined: it is a key of its own
 */
export function knownAs(
  key: string,
  others: readonly string[],
  rowsEqualTo: ReadonlyMap<string, readonly string[]>,
): KnownAs | undefined {
  const own = rowsEqualTo.get(key);
  // A key that was shortened can't be asked for.
  if (own === undefined) return undefined;
  if (!own.includes(key)) return null;
  // If the ERP has a row in the old spelling as well, the two are two records.
  const same = others.filter((other) => {
    const rows = rowsEqualTo.get(other) ?? [];
    return rows.includes(key) && !rows.includes(other);
  });
  const [first] = same;
  if (first === undefined) return undefined;
  if (same.length === 1 && own.length === 1) return { key: first, unclear: null };
  const equal = firstFew([...new Set([...own, ...same])].sort());
  return { key: first, unclear: { code: 'key_ambiguous', equal, known: firstFew(same) } };
}

/** The known spellings of keys that the ERP yielded, for those that are respelled; and of which keys nothing was sent. */
async function spellings(
  store: Store,
  reader: ErpReader,
  entity: Entity,
  keys: readonly string[],
): Promise<{ known: ReadonlyMap<string, KnownAs>; isNew: (key: string) => boolean }> {
  if (keys.length === 0) return { known: new Map(), isNew: () => false };
  const found = await store.read('look for other spellings of keys', (tx) => otherSpellings(tx, entity, keys));
  return { known: await settle(reader, entity, found.candidates), isNew: found.isNew };
}

export async function knownSpellings(...given: Parameters<typeof spellings>): Promise<ReadonlyMap<string, KnownAs>> {
  return (await spellings(...given)).known;
}

/**
 * A page of the ERP with each row, and each order's customer, under the key that its record is known under.
 * `isNew`: whether nothing was sent of one of its keys, nor is on its way.
 */
export async function respell<P extends Pick<ErpPage<ReadCustomer | ReadOrder>, 'rows' | 'customers'>>(
  { store, log }: JobContext,
  reader: ErpReader,
  entity: Entity,
  page: P,
): Promise<P & { isNew: (key: string) => boolean }> {
  const keysOf = (rows: readonly (ReadCustomer | ReadOrder)[]) => rows.map(({ sourceKey }) => sourceKey);
  const { known: own, isNew } = await spellings(store, reader, entity, keysOf(page.rows));
  const named = page.rows.flatMap((row) => (row.entity === 'order' ? (row.customerKey ?? []) : []));
  const customers = await knownSpellings(store, reader, 'customer', [
    ...new Set([...keysOf(page.customers), ...named]),
  ]);
  if (own.size === 0 && customers.size === 0) return { ...page, isNew };
  const rows = rename(page.rows, own).flatMap((row) => {
    if (row.entity !== 'order' || row.customerKey === null) return [row];
    const customer = customers.get(row.customerKey);
    if (customer) return [{ ...row, customerKey: customer.key }];
    // An order whose customer was not found is parked with that reason: left out here, it would be left out of every read.
    return customer === undefined || !row.content.mapped ? [row] : [];
  });
  if (rows.length < page.rows.length)
    log.warn('A key was changed in the ERP while its row was read: the next sweep reads the row again', { entity });
  return { ...page, rows, customers: rename(page.customers, customers), isNew };
}

function rename<R extends ReadCustomer | ReadOrder>(rows: readonly R[], spellings: ReadonlyMap<string, KnownAs>): R[] {
  const renamed = rows.flatMap((row): R[] => {
    const known = spellings.get(row.sourceKey);
    if (known === undefined) return [row];
    if (known === null) return [];
    const { key: sourceKey, unclear } = known;
    if (unclear !== null)
      return [{ ...row, sourceKey, content: { mapped: false, problems: [unclear], fingerprint: '' } }];
    if (row.entity === 'customer' || row.identity === null) return [{ ...row, sourceKey }];
    // A number that is the key as well is no other number.
    const columns = Object.entries(JSON.parse(row.identity));
    const identity = columns.map(([name, value]) => [name, value === row.sourceKey ? sourceKey : value]);
    return [{ ...row, sourceKey, identity: JSON.stringify(Object.fromEntries(identity)) }];
  });
  return [...new Map(renamed.map((row) => [row.sourceKey, row])).values()];
}

/** A row that is new to the store, and the known order that it seems to be. */
export interface RenamedOrder {
  to: string;
  from: string;
}

/**
 * Find orders whose rows seem to have got another key: new to the store, with number and identity of a known one whose row is
 * gone. Sent as new, such an order would be at the service twice.
 * @param isNew whether nothing was sent of a key, nor is on its way
 */
export async function renamedOrders(
  { store }: Pick<JobContext, 'store'>,
  reader: ErpReader,
  rows: readonly (ReadCustomer | ReadOrder)[],
  isNew: (key: string) => boolean,
): Promise<RenamedOrder[]> {
  const orders = rows.flatMap((row) => (row.entity === 'order' && isNew(row.sourceKey) ? [row] : []));
  const numbers = [...new Set(orders.flatMap(({ number }) => storedNumber(number) ?? []))];
  if (numbers.length === 0) return [];
  const known = await store.read('look for orders of the same number', (tx) => ordersOf(tx, numbers));
  const pairs = known.flatMap((one) => orders.filter((row) => isSame(row, one)).map((row) => [row, one] as const));
  if (pairs.length === 0) return [];
  const keys = [...new Set(pairs.map(([, { sourceKey }]) => sourceKey))];
  const presence = await reader.presence('order', keys, true);
  return pairs.flatMap(([{ sourceKey: to }, { sourceKey: from }]) =>
    isStillThere(presence, from, to) ? [] : [{ to, from }],
  );
}

interface KnownOrder {
  sourceKey: string;
  number: string;
  identity: string | null;
}

/** A number as the store has it; a server takes no statement that holds a text of any length. */
const storedNumber = (number: string | null) => boundedText('outbox_message.number', number);

function isSame(row: Pick<ReadOrder, 'sourceKey' | 'number' | 'identity'>, one: KnownOrder): boolean {
  if (storedNumber(row.number) !== one.number || row.sourceKey === one.sourceKey) return false;
  if (sourceOf(row.sourceKey) !== sourceOf(one.sourceKey)) return false;
  return row.identity !== null && one.identity !== null && changedIdentity(one.identity, row.identity) === null;
}

/** The known orders with one of these numbers that are at the service, may be, or still wait to be sent. */
async function ordersOf(tx: Tx, numbers: readonly string[]): Promise<KnownOrder[]> {
  const listed = placeholders(numbers.length);
  const of = (condition: string) => `number IN ${listed} AND CASE WHEN ${condition} THEN 1 ELSE 0 END=1`;
  return tx.rows(
    `SELECT b.source_key, m.number, b.identity FROM outbox_message m
       JOIN binding b ON b.entity=m.entity AND b.source_key=m.source_key WHERE m.${of("m.entity='order'")}
     UNION SELECT source_key, number, identity FROM binding WHERE ${of("entity='order'")}
     UNION SELECT source_key, number, identity FROM outbox_message
       WHERE ${of(`entity='order' AND operation='create'
         AND state IN ('sending','in_doubt','pending','parked')`)}`,
    [...numbers, ...numbers, ...numbers],
  );
}

/**
 * Find customers whose rows seem to have got another key: new to the store, with the code of a known one whose row is gone. A
 * service that gives ids of its own would make a second customer. One that knows customers by their code refuses a second one.
 * @returns the known key, by new key
 */
export async function renamedCustomers(
  { store }: Pick<JobContext, 'store'>,
  reader: ErpReader,
  rows: readonly ReadCustomer[],
): Promise<ReadonlyMap<string, string>> {
  if (rows.length === 0) return new Map();
  const codeOf = ({ content }: ReadCustomer) =>
    content.mapped ? JSON.stringify({ customer_code: content.record.customer_code }) : null;
  const { own, known } = await store.read('look for customers with the same code', (tx) => sameCodes(tx, rows, codeOf));
  const pairs = rows.flatMap((row) => {
    const identity = own.has(row.sourceKey) ? null : codeOf(row);
    const from = identity === null ? undefined : known.get(identity);
    const isSameSource = from !== undefined && sourceOf(from) === sourceOf(row.sourceKey);
    return isSameSource && from !== row.sourceKey ? [{ to: row.sourceKey, from }] : [];
  });
  if (pairs.length === 0) return new Map();
  const presence = await reader.presence(
    'customer',
    pairs.map(({ from }) => from),
    true,
  );
  return new Map(pairs.flatMap(({ to, from }) => (isStillThere(presence, from, to) ? [] : [[to, from] as const])));
}

/** Keys that are known as they are, and customers at the service, or perhaps there, by their identity. */
async function sameCodes(
  tx: Tx,
  rows: readonly ReadCustomer[],
  codeOf: (row: ReadCustomer) => string | null,
): Promise<{ own: ReadonlySet<string>; known: ReadonlyMap<string, string> }> {
  const keys = padded(rows.map(({ sourceKey }) => sourceKey));
  const bound = await tx.rows<{ sourceKey: string }>(
    `SELECT source_key FROM binding WHERE entity='customer' AND source_key IN ${placeholders(keys.length)}`,
    keys,
  );
  const own = new Set(bound.map(({ sourceKey }) => sourceKey));
  const codes = padded([...new Set(rows.flatMap((row) => (own.has(row.sourceKey) ? [] : (codeOf(row) ?? []))))]);
  if (codes.length === 0) return { own, known: new Map() };
  const listed = placeholders(codes.length);
  const found = await tx.rows<{ sourceKey: string; identity: string }>(
    `SELECT source_key, identity FROM binding WHERE entity='customer' AND identity IN ${listed}
     UNION SELECT source_key, identity FROM outbox_message
       WHERE entity='customer' AND state IN ('sending','in_doubt','parked') AND operation='create'
         AND was_sent=1 AND (park_class IS NULL OR park_class<>'refused') AND identity IN ${listed}`,
    [...codes, ...codes],
  );
  return { own, known: new Map(found.map(({ sourceKey, identity }) => [identity, sourceKey])) };
}
