import type { ErpPage, ErpReader, ReadCustomer, ReadOrder } from '../../erp/erp-reader.js';
import type { Fact } from '../../model/facts/fact.js';
import type { Currency, RowFact } from '../../model/facts/rows.js';
import { defaultSource, type Entity, isShortened, sourceOf } from '../../model/record.js';
import type { JobContext } from '../../ops/job-context.js';
import type { Elapsed } from '../../store/elapsed-time.js';
import { factOf, factRow } from '../../store/fact-columns.js';
import { padded, placeholders, upsertRows } from '../../store/rows.js';
import type { Tx } from '../../store/store.js';
import { canonicalJson, sha256 } from '../outbox/content-hash.js';
import { movedOrders } from './customer-of-order.js';
import { type KnownRecord, knownRecords } from './known-records.js';
import {
  contentHash,
  demandedBy,
  identityOf,
  isKnown,
  planRow,
  type ReadRow,
  type RowPass,
  refreshedBinding,
  type TimedPass,
} from './plan-row.js';

export interface OrderReadinessInput {
  /** Why the row is no record; null: it is one. */
  unmapped: RowFact | null;
  /** Both in minor units as decimal text; null when the mapping names no total column. */
  totals: ReadOrder['totals'];
  money: Currency;
  /** Seconds since the row changed, by the ERP's clock; null when unknown. */
  ageSeconds: number | null;
  /** Seconds that surely passed since we first saw it in this form; 0 when just now. */
  seenSeconds: number;
  settleSeconds: number;
}

type OrderReadiness = { ready: true } | { ready: false; wait: boolean; reason: RowFact };

const keyProblems: ReadonlySet<RowFact['code']> = new Set(['key_empty', 'key_repeated', 'key_ambiguous']);

/**
 * True if an order's lines are all there. Some ERPs save header and lines apart, so that a reader sees two lines of
 * five, or none. Lines that add up to the header's total are proof; without a total only time helps, as with a row that
 * is no record yet; and when time did not help, a person must.
 */
export function orderReadiness(input: OrderReadinessInput): OrderReadiness {
  const { unmapped, totals, money, ageSeconds, seenSeconds, settleSeconds } = input;
  const settled = seenSeconds >= settleSeconds || (ageSeconds !== null && ageSeconds >= settleSeconds);
  if (unmapped !== null) {
    // No line that follows mends a key.
    if (settled || keyProblems.has(unmapped.code)) return { ready: true };
    return { ready: false, wait: true, reason: unmapped };
  }
  if (totals && totals.lines === totals.header) return { ready: true };
  if (!totals) {
    if (settled) return { ready: true };
    return { ready: false, wait: true, reason: { code: 'lines_may_follow', settleSeconds } };
  }
  const { lines: found, header: expected } = totals;
  return { ready: false, wait: !settled, reason: { code: 'lines_total_differs', found, expected, ...money } };
}

/** An order that waits for its lines, and since when it has looked as it does. */
export interface FirstSeen {
  /** For people. */
  firstSeenAt: number;
  /** Start of the wait; null: an older version of Waybill noted it. */
  firstSeenElapsed: Elapsed | null;
  contentHash: string;
  reason: Fact;
}

/** Those of the orders that waited before. */
export async function firstSeen(tx: Tx, sourceKeys: readonly string[]): Promise<Map<string, FirstSeen>> {
  if (sourceKeys.length === 0) return new Map();
  const found = await tx.rows<
    Omit<FirstSeen, 'reason'> & { sourceKey: string; reasonCode: string; reasonData: string | null }
  >(
    `SELECT source_key, first_seen_at, first_seen_elapsed, content_hash, reason_code, reason_data FROM unsettled WHERE source_key IN ${placeholders(sourceKeys.length)}`,
    sourceKeys,
  );
  return new Map(
    found.map(({ reasonCode, reasonData, ...row }) => {
      return [row.sourceKey, { ...row, reason: factOf(reasonCode, reasonData) as Fact }];
    }),
  );
}

/** Notes who waits from now on, and who does not any more. */
export async function writeUnsettled(
  tx: Tx,
  waiting: readonly (FirstSeen & { sourceKey: string })[],
  settledKeys: readonly string[],
): Promise<void> {
  await upsertRows(
    tx,
    'unsettled',
    ['source_key'],
    waiting.map((one) => ({
      source_key: one.sourceKey,
      first_seen_at: one.firstSeenAt,
      first_seen_elapsed: one.firstSeenElapsed,
      content_hash: one.contentHash,
      ...factRow('reason', one.reason),
    })),
  );
  if (settledKeys.length > 0)
    await tx.run(`DELETE FROM unsettled WHERE source_key IN ${placeholders(settledKeys.length)}`, settledKeys);
}

/** Keys of waiting orders that have neither a message nor a binding. */
export async function unsettledStrangers(tx: Tx): Promise<string[]> {
  const rows = await tx.rows<{ sourceKey: string }>(
    `SELECT u.source_key FROM unsettled u
      WHERE NOT EXISTS (SELECT 1 FROM outbox_message m WHERE m.source_key=u.source_key AND m.entity='order')
        AND NOT EXISTS (SELECT 1 FROM binding b WHERE b.source_key=u.source_key AND b.entity='order')`,
  );
  return rows.map((row) => row.sourceKey);
}

/** Keys of all orders of a source that wait for their lines, those that have waited longest first. */
async function waitingOrders(tx: Tx, source = defaultSource): Promise<string[]> {
  const rows = await tx.rows<{ sourceKey: string }>('SELECT source_key FROM unsettled ORDER BY first_seen_at');
  return rows.map((row) => row.sourceKey).filter((key) => sourceOf(key) === source);
}

/** The orders that wait for their lines, some at a time with what the ERP has of them by now. */
export async function* waitingPages(
  { store, settings }: JobContext,
  reader: ErpReader,
): AsyncGenerator<{ keys: string[]; page: ErpPage<ReadOrder> }> {
  const waiting = await store.read('read what waits for its lines', (tx) => waitingOrders(tx, settings.source));
  // An order with a shortened key is met among the changes and by the sweep.
  const all = waiting.filter((key) => !isShortened(key));
  for (let start = 0; start < all.length; start += rowsAtOnce) {
    const keys = all.slice(start, start + rowsAtOnce);
    yield { keys, page: await readAll(reader, keys) };
  }
}

/** All of them on one page: a query that multiplies rows has more rows than keys. */
async function readAll(reader: ErpReader, keys: string[]): Promise<ErpPage<ReadOrder>> {
  const read = (after: string[] | null) => reader.sweep('order', after, keys.length, { keys });
  let page = await read(null);
  while (page.more && page.last !== null) {
    const next = await read(page.last.key);
    const customers = new Map([...page.customers, ...next.customers].map((one) => [one.sourceKey, one]));
    page = { ...next, rows: [...page.rows, ...next.rows], customers: [...customers.values()] };
  }
  return page;
}

/**
 * The number of rows, with their customers, that are written in one transaction: a few milliseconds, in which nothing
 * else has its turn. With twice as many the event loop was half as late again (p99); a first capture took as long with
 * SQLite, a twentieth less with MariaDB.
 */
export const rowsAtOnce = 64;

type AnyPage = ErpPage<ReadCustomer | ReadOrder>;

/**
 * A page without the rows that say what is known already, as nearly all of a sweep do. They are found by one comparison of the
 * whole page with the store, which locks nothing: what remains is compared once more in the transaction that writes it.
 */
export async function setUnchangedAside<P extends AnyPage>(
  context: JobContext,
  pass: RowPass,
  entity: Entity,
  page: P,
): Promise<{ page: P; unchanged: number; seen: ReadRow[] }> {
  const timed = { ...pass, nowMs: context.nowMs() };
  const changedOf = async <R extends ReadRow>(of: Entity, rows: readonly R[]): Promise<R[]> => {
    const keysOf = (some: readonly R[]) => some.map(({ sourceKey }) => sourceKey);
    const settled = await context.store.read('compare with the ERP', (tx) =>
      settledRecords(tx, of, keysOf(rows), pass.fingerprints[of]),
    );
    await context.thread.turn();
    const open = rows.filter((row) => !isAsSettled(context, row, settled.get(row.sourceKey)));
    const [known, waiting] = await context.store.read('compare with the ERP', async (tx) => [
      await knownRecords(tx, of, keysOf(open)),
      await firstSeen(tx, of === 'order' ? keysOf(open) : []),
    ]);
    await context.thread.turn();
    return open.filter(
      (row) => waiting.has(row.sourceKey) || !isAsKnown(context, timed, row, known.get(row.sourceKey)),
    );
  };
  const rows = await changedOf<ReadRow>(entity, page.rows);
  const customers = await changedOf('customer', page.customers);
  const changed = new Set(rows);
  const seen = page.rows.filter((row) => !changed.has(row));
  return { page: { ...page, rows, customers }, unchanged: page.rows.length - rows.length, seen };
}

/** The acknowledged content of a record, if nothing else was captured of it since, and no order waits for its lines. */
interface SettledRecord {
  content_hash: string | null;
  identity: string | null;
}

/**
 * Those of many records that were acknowledged, mapped as they are today, and are wanted as they are. Nearly all rows of a sweep
 * are theirs: so this reads the few columns by which they are told, and leaves everything else to `knownRecords`.
 */
async function settledRecords(
  tx: Tx,
  entity: Entity,
  sourceKeys: readonly string[],
  mappingFingerprint: string,
): Promise<Map<string, SettledRecord>> {
  if (sourceKeys.length === 0) return new Map();
  const keys = padded([...new Set(sourceKeys)]);
  const newestIsSame = `SELECT CASE WHEN m.content_hash=b.content_hash AND m.operation<>'delete' THEN 1 ELSE 0 END
       FROM outbox_message m WHERE m.source_key=b.source_key AND m.entity=b.entity ORDER BY m.revision DESC LIMIT 1`;
  const rows = await tx.select<SettledRecord & { source_key: string }>(
    `SELECT b.source_key, b.content_hash, b.identity FROM binding b
      WHERE b.entity=? AND b.mapping_fingerprint=? AND b.source_key IN ${placeholders(keys.length)}
        AND COALESCE((${newestIsSame}),1)=1 AND NOT EXISTS (SELECT 1 FROM unsettled u WHERE u.source_key=b.source_key)`,
    [entity, mappingFingerprint, ...keys],
  );
  return new Map(rows.map((row) => [row.source_key, row]));
}

/**
 * True if a row repeats the settled content of a settled record. The cases that it leaves open get the same answer from
 * `isAsKnown`.
 */
function isAsSettled({ settings }: JobContext, row: ReadRow, settled: SettledRecord | undefined): boolean {
  if (!settled || row.replaces || !row.content.mapped || settled.identity !== identityOf(row)) return false;
  // They are not read again, so they need not be kept with the record (`contentOf`).
  const json = canonicalJson(row.content.record);
  return settled.content_hash === sha256(json) && demandedBy(settings.service, row, json) === null;
}

/** True if nothing follows from a row: its record is known by this very key, on its way or bound, and says the same. */
function isAsKnown(context: JobContext, pass: TimedPass, row: ReadRow, known: KnownRecord | undefined): boolean {
  // A row that names another record decides on that one as well.
  if (!known || row.replaces || !row.content.mapped || !isKnown(known, contentHash(row))) return false;
  const { newest, binding } = known;
  if (movedOrders(row, known).length > 0) return false;
  // Other records under its key, such as a create that was closed unsent, may belong to another spelling.
  if (!binding && !['pending', 'sending', 'in_doubt'].includes(newest?.state ?? '')) return false;
  return planRow(context, pass, row, known, null) === 'unchanged' && refreshedBinding(pass, row, known) === null;
}

/**
 * A page in parts of so many rows, each with the customers that its orders name. The last one also has those that no order
 * on the page names, and may be empty.
 */
export function* partsOf<P extends AnyPage>(page: P, size: number): Generator<P & { isLast: boolean }> {
  const namedBy = (rows: readonly (ReadCustomer | ReadOrder)[]) =>
    new Set(rows.flatMap((row) => (row.entity === 'order' ? [row.customerKey] : [])));
  const namedAnywhere = namedBy(page.rows);
  for (let start = 0; start === 0 || start < page.rows.length; start += size) {
    const rows = page.rows.slice(start, start + size);
    const isLast = start + size >= page.rows.length;
    const named = namedBy(rows);
    const customers = page.customers.filter(
      ({ sourceKey }) => named.has(sourceKey) || (isLast && !namedAnywhere.has(sourceKey)),
    );
    yield { ...page, rows, customers, isLast };
  }
}
