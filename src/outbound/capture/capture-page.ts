import type { Settings } from '../../config/settings.js';
import type { ErpPage, ErpReader, ReadCustomer, ReadOrder } from '../../erp/erp-reader.js';
import { moneyOf } from '../../erp/mapping/money.js';
import type { AlertFact } from '../../model/facts/alerts.js';
import type { Fact } from '../../model/facts/fact.js';
import { type RowFact, rowFact } from '../../model/facts/rows.js';
import { type Entity, idIsCode, inSource, orderTotal, pluralOf } from '../../model/record.js';
import type { JobContext } from '../../ops/job-context.js';
import { killPoint } from '../../ops/kill-point.js';

import { type Elapsed, earlier, noteElapsed, readElapsed } from '../../store/elapsed-time.js';
import { writeCursor } from '../../store/job-runs.js';
import type { Lease } from '../../store/lease.js';
import type { Tx } from '../../store/store.js';
import { type RefreshedBinding, refreshBindings } from '../outbox/bindings.js';
import { changedFields } from '../outbox/compose-update.js';
import { contentOf } from '../outbox/content-hash.js';
import { holdSource } from './apply-safety-limits.js';
import {
  closeShared,
  type MovedOrder,
  movedOrders,
  moveToCustomers,
  type SharedCustomers,
  sharedCustomers,
  withShared,
} from './customer-of-order.js';
import { type JudgedPage, judgement, noteAcknowledged } from './judged-rows.js';
import {
  acknowledgedRecords,
  type KnownRecord,
  knownRecords,
  type RenamedOrder,
  renamedCustomers,
  renamedOrders,
  respell,
} from './known-records.js';
import { holdLostLines } from './lost-lines.js';
import {
  contentHash,
  demandedBy,
  isKnown,
  type Plan,
  planRow,
  type ReadRow,
  type RowPass,
  refreshedBinding,
  type SkippedRecord,
  type TimedPass,
  writePlans,
} from './plan-row.js';
import {
  findReplacements,
  type Replacement,
  type SettledReplacements,
  settleRenamed,
  settleReplacements,
} from './replaced-records.js';
import { type FirstSeen, firstSeen, orderReadiness, writeUnsettled } from './rows-aside.js';
import { type PassCounts, turnedKeysHold } from './safety-limits.js';

interface CapturePageWork extends Omit<RowPass, 'renamed' | 'replacing'> {
  reader: ErpReader;
  entity: Entity;
  page: ErpPage<ReadCustomer | ReadOrder>;
  /** Orders that were asked for because they wait for their lines; those that the page lacks are forgotten. */
  unsettledKeys: readonly string[];
  /** Null in a dry run. */
  lease: Lease | null;
  /** Customers of orders that were set aside as unchanged. */
  settledCustomers: ReadonlySet<string>;
  /** Skip customers of a customer page that were never captured: nothing refers to them yet. */
  knownCustomersOnly: boolean;
  /** The number of rows of the page that may still be written. */
  room: number;
  cursor: { changedAt: string } | null;
  /** Customers that a dry run has counted on an earlier page. */
  shownCustomers: Set<string>;
  /** Records that go on under another key, as a dry run foresees it: entity and key. */
  replaced: Set<string>;
  /** Known keys that belong to another record now, as earlier pages of the pass met them. */
  turnedKeys: number;
  /** Told, in a dry run, what was decided of each row. */
  onJudged: ((page: JudgedPage) => void | Promise<void>) | undefined;
}

export interface CapturePageResult {
  captured: { customers: number; orders: number };
  unchanged: number;
  parked: number;
  /** The records that wait for `waybill confirm`, and why. */
  held: { entity: Entity; reason: Fact }[];
  /** Keys of the orders that wait for their lines. */
  waiting: string[];
  skipped: SkippedRecord[];
  /** Lines of the captured orders that `orders.lines.text` leaves out. */
  skippedLines: number;
  touched: TouchedRecord[];
  /** Known keys that belong to another record now. */
  turnedKeys: number;
  /** The rows that the outbox knows by now. */
  seen: ReadRow[];
  /** The line for the log now that it is written, or null. */
  alert: AlertFact | null;
}

/** A record that was written to the outbox (or would be, in a dry run). */
export interface TouchedRecord {
  entity: Entity;
  sourceKey: string;
  number: string | null;
  customerKey: string | null;
  operation: string;
  /** Why it is removed, or null: it is not. */
  because: 'cancelled' | 'deleted' | null;
  /** As what the holds of the pass count it, or null. */
  counts: keyof PassCounts | null;
  changedAt: string | null;
  /** Sum of qty × price in minor units as text; null for customers and for rows that can't be mapped. */
  total: string | null;
  /** The currency of the total, if orders may have several; null: `amounts.currency`. */
  currency: string | null;
  /** Why it waits for a person, or null. */
  parked: Fact | null;
  /** The unsent message that it replaces, or null. */
  supersedes: number | null;
  /** The number of its lines that `orders.lines.text` leaves out. */
  skippedLines: number;
  /** Names of the fields that an update would change; only in a dry run. */
  fields: string[];
}

/** One page of the ERP becomes messages, audit lines and the cursor, in one transaction. */
export async function capturePage(context: JobContext, read: CapturePageWork): Promise<CapturePageResult> {
  const spelled = await respell(context, read.reader, read.entity, read.page);
  const met = read.entity === 'customer' ? (spelled.rows as ReadCustomer[]) : spelled.customers;
  const shared = await sharedCustomers(context, met);
  const page = withShared(spelled, shared);
  const renamed = await renamedOrders(context, read.reader, page.rows, page.isNew);
  const customers = read.entity === 'customer' ? (page.rows as ReadCustomer[]) : page.customers;
  const isOwnId = !idIsCode(context.settings.service.acknowledgement);
  const sameCustomers = isOwnId ? await renamedCustomers(context, read.reader, customers) : new Map<string, string>();
  const named = { customer: [] as Replacement[], order: [] as Replacement[] };
  for (const [entity, rows] of [
    ['customer', page.customers],
    [read.entity, page.rows],
  ] as const)
    if (rows.some(({ replaces }) => replaces))
      named[entity] = await findReplacements(context, read.reader, entity, rows);
  const work = { ...read, page, renamed, named, sameCustomers, shared };
  // With a store in a file nothing waits: others have their turn before the transaction.
  await context.thread.turn();
  if (work.lease === null) {
    const judged: JudgedPage = { rows: [], customers: [] };
    const foreseen = await context.store.read('compare with the ERP', (tx) => planAndWrite(context, work, tx, judged));
    await work.onJudged?.(judged);
    return foreseen;
  }
  const written = await work.lease.write('write what was captured', async (tx) => {
    const result = await planAndWrite(context, work, tx);
    if (result.touched.length > 0) killPoint('before-capture-commit');
    return result;
  });
  if (written.touched.length > 0) killPoint('after-capture-commit');
  return written;
}

const noneReplaced: SettledReplacements = { held: new Map(), moved: new Map() };
type PageWork = CapturePageWork & {
  named: Record<Entity, Replacement[]>;
  renamed: readonly RenamedOrder[];
  sameCustomers: ReadonlyMap<string, string>;
  shared: SharedCustomers;
};

/** @param judged filled in a dry run */
async function planAndWrite(
  context: JobContext,
  read: PageWork,
  tx: Tx,
  judged?: JudgedPage,
): Promise<CapturePageResult> {
  const nowMs = context.nowMs();
  const { entity, lease } = read;
  const settle = (of: Entity) =>
    read.named[of].length === 0
      ? noneReplaced
      : settleReplacements(context, tx, read.named[of], { entity: of, lease, replaced: read.replaced }, nowMs);
  const replacing = { customer: await settle('customer'), order: await settle('order') };
  const renamed = await settleRenamed(context, tx, read.renamed, lease, nowMs);
  replacing.order = { ...replacing.order, held: new Map([...renamed.held, ...replacing.order.held]) };
  const work = {
    ...read,
    replacing,
    renamed: new Map([...renamed.seems].map(([to, from]) => [`order ${to}`, from])),
    nowMs,
  };
  for (const [to, from] of read.sameCustomers) work.renamed.set(`customer ${to}`, from);
  const result: CapturePageResult = {
    captured: { customers: 0, orders: 0 },
    unchanged: 0,
    parked: 0,
    held: [],
    waiting: [],
    skipped: [],
    skippedLines: 0,
    touched: [],
    turnedKeys: 0,
    seen: [],
    alert: null,
  };
  const rows: readonly ReadRow[] = work.page.rows;
  const keys = rows.map((row) => row.sourceKey);
  const known = new Map([...(await knownRecords(tx, entity, keys, lease !== null)), ...replacing[entity].moved]);
  const seen = await firstSeen(tx, entity === 'order' ? keys : []);
  const elapsed = lease === null ? await readElapsed(tx, context) : await noteElapsed(tx, context);
  const now = { nowMs, elapsed };
  const plans: Plan[] = [];
  const refreshed: RefreshedBinding[] = [];
  const moved: MovedOrder[] = [];
  const named = new Set(work.settledCustomers);
  const waiting: (FirstSeen & { sourceKey: string })[] = [];
  const settledKeys = work.unsettledKeys.filter((key) => !known.has(key));
  for (const row of rows) {
    if (plans.length >= work.room) break;
    const { sourceKey } = row;
    const record = known.get(sourceKey) as KnownRecord;
    if (entity === 'customer' && work.knownCustomersOnly && !record.newest && !record.binding) continue;
    let lines = judgeLines(context.settings, row, record, seen.get(sourceKey), now);
    const waits = lines.waits?.reason ?? null;
    if (lines.waits) {
      waiting.push({ sourceKey, ...lines.waits });
      if (lease !== null) continue;
      // A dry run shows what becomes of it when the wait is over.
      lines = judgeLines({ ...context.settings, orders: { settleSeconds: 0 } }, row, record, undefined, now);
    }
    result.seen.push(row);
    noteCustomer(context, row, lines.parkedReason, named);
    if (seen.has(sourceKey)) settledKeys.push(sourceKey);
    const plan = planRow(context, work, row, record, lines.parkedReason);
    judged?.rows.push({ ...judgement(row, plan, record, lines.parkedReason), waits });
    if (plan === 'unchanged') {
      result.unchanged++;
      const binding = refreshedBinding(work, row, record);
      if (binding) refreshed.push(binding);
      moved.push(...movedOrders(row, record));
    } else if ('reason' in plan) result.skipped.push(plan);
    else plans.push(plan);
  }
  result.waiting = waiting.map(({ sourceKey }) => sourceKey);
  const updates = plans.filter(({ message: { operation, parked } }) => operation === 'update' && parked === null);
  if (entity === 'order' && updates.length > 0 && context.settings.orders.onLinesLost === 'hold')
    await holdLostLines(tx, updates, context.settings.orders);
  if (entity === 'order')
    plans.unshift(...(await planCustomers(context, { ...work, moved, named }, tx, plans, judged)));
  await report(work, tx, plans, result);
  if (judged) for (const rows of [judged.rows, judged.customers]) await noteAcknowledged(tx, rows);
  if (lease === null) return result;

  await writePlans(context, tx, plans, nowMs);
  // In the same transaction: the next pass meets these keys as known.
  const hold = result.turnedKeys > 0 ? turnedKeysHold(work.turnedKeys + result.turnedKeys) : null;
  if (hold) result.alert = await holdSource(tx, context, entity, hold);
  await refreshBindings(tx, refreshed);
  await moveToCustomers(tx, moved);
  await closeShared(tx, context, work.shared, nowMs);
  await writeUnsettled(tx, waiting, settledKeys);
  if (work.cursor) await writeCursor(tx, inSource(entity, context.settings.source), work.cursor);
  return result;
}

/** Tells if an order waits until it is complete, or is parked because its lines don't add up. A customer has none. */
function judgeLines(
  { amounts, orders: { settleSeconds } }: Pick<Settings, 'amounts'> & { orders: { settleSeconds: number } },
  row: ReadRow,
  record: KnownRecord,
  seen: FirstSeen | undefined,
  { nowMs, elapsed }: { nowMs: number; elapsed: Elapsed },
): { waits: FirstSeen | null; parkedReason: RowFact | null } {
  if (row.entity !== 'order') return { waits: null, parkedReason: null };
  const hash = contentHash(row);
  if (isKnown(record, hash)) return { waits: null, parkedReason: null };
  const before = seen?.contentHash === hash ? seen : null;
  const firstSeenAt = Math.min(before?.firstSeenAt ?? nowMs, nowMs);
  // A wall clock that is set must not send an order without its lines.
  const firstSeenElapsed = earlier(before?.firstSeenElapsed ?? elapsed, elapsed);
  const readiness = orderReadiness({
    unmapped: row.content.mapped ? null : rowFact(row.content.problems),
    totals: row.totals,
    money: moneyOf(amounts, row.currency),
    ageSeconds: row.ageSeconds,
    seenSeconds: (elapsed - firstSeenElapsed) / 1000,
    settleSeconds,
  });
  if (readiness.ready) return { waits: null, parkedReason: null };
  const parkedReason = readiness.reason;
  // An order that is parked for this already does not wait once more.
  const waits = readiness.wait && !isKnown(record, contentHash(row, parkedReason));
  const first = { firstSeenAt, firstSeenElapsed, contentHash: hash, reason: parkedReason };
  return { waits: waits ? first : null, parkedReason };
}

/** Notes the customer of an order, unless its own row keeps it back. What is wrong with the customer is said with the customer. */
function noteCustomer({ settings }: JobContext, row: ReadRow, parkedReason: RowFact | null, named: Set<string>): void {
  if (row.entity !== 'order' || row.customerKey === null) return;
  const { content } = row;
  const isSendable = content.mapped
    ? (parkedReason ?? demandedBy(settings.service, row, contentOf(content.record).json)) === null
    : content.problems.every(({ code }) => code === 'customer_not_sendable');
  if (isSendable) named.add(row.customerKey);
}

/** The customers of the orders that are written now come along, in the same snapshot and the same transaction. */
async function planCustomers(
  context: JobContext,
  work: RowPass &
    CapturePageWork &
    TimedPass & {
      replacing: Record<Entity, SettledReplacements>;
      moved: readonly MovedOrder[];
      named: ReadonlySet<string>;
    },
  tx: Tx,
  orders: readonly Plan[],
  judged?: JudgedPage,
): Promise<Plan[]> {
  const wanted = new Set([
    ...orders.map((plan) => plan.message.customerKey),
    ...work.moved.map((order) => order.customer_key),
  ]);
  const all = work.room === Number.POSITIVE_INFINITY;
  const customers =
    judged || all ? work.page.customers : work.page.customers.filter((row) => wanted.has(row.sourceKey));
  const keys = customers.map((row) => row.sourceKey);
  const known = new Map([
    ...(await knownRecords(tx, 'customer', keys, work.lease !== null)),
    ...work.replacing.customer.moved,
  ]);
  // A customer is as new as the orders for which it comes along.
  const waitsWithOrders = ({ message: { operation, sourceKey } }: Plan) => {
    const own = orders.filter(({ message }) => message.customerKey === sourceKey);
    return operation === 'create' && own.length > 0 && own.every(({ message }) => isOverdueCreate(message));
  };
  return customers.flatMap((row) => {
    const record = known.get(row.sourceKey) as KnownRecord;
    const { readBefore: _, ...asNew } = work;
    const plan = planRow(context, { ...asNew, force: false }, row, record, null);
    if (plan !== 'unchanged' && !('reason' in plan) && waitsWithOrders(plan)) plan.message.waitsForScan = true;
    judged?.customers.push(judgement(row, plan, record, null));
    // Unchanged customers beside the orders that the page was read for are no news, nor are those of an earlier page.
    const isNews = plan !== 'unchanged' && !('reason' in plan) && !work.shownCustomers.has(row.sourceKey);
    // A customer whose orders are all kept back stays in the ERP; one that is known is followed.
    const isNamed = work.named.has(row.sourceKey) || record.newest !== null || record.binding !== null;
    const comesAlong = all ? isNamed : wanted.has(row.sourceKey) && isNamed;
    return isNews && comesAlong ? [plan] : [];
  });
}

function isOverdueCreate({ operation, waitsForScan }: Plan['message']): boolean {
  return operation === 'create' && waitsForScan === true;
}

function countedAs(operation: string): keyof PassCounts {
  return operation === 'create' ? 'creates' : 'updates';
}

/** Notes in `result` what is written, or would be. */
async function report(work: CapturePageWork, tx: Tx, plans: readonly Plan[], result: CapturePageResult): Promise<void> {
  const isDry = work.lease === null;
  const keys = plans.map((plan) => plan.message.sourceKey);
  const acknowledged = isDry ? await acknowledgedRecords(tx, work.entity, keys) : new Map<string, string>();
  for (const { message, row, supersedes } of plans) {
    const { entity, sourceKey, number, customerKey, operation, parked } = message;
    const skippedLines = row.entity === 'order' ? (row.skippedLines ?? 0) : 0;
    result.skippedLines += skippedLines;
    if (isDry && entity === 'customer') work.shownCustomers.add(sourceKey);
    if (parked) result.parked++;
    if (parked?.parkClass === 'conflict') result.turnedKeys++;
    if (parked?.parkClass === 'held') result.held.push({ entity, reason: parked.reason });
    result.captured[pluralOf(entity)]++;
    result.touched.push({
      entity,
      sourceKey,
      number,
      customerKey,
      operation,
      because: null,
      counts: parked === null && message.waitsForScan ? countedAs(operation) : null,
      changedAt: row.changedAt,
      total: row.entity === 'order' && row.content.mapped ? String(orderTotal(row.content.record.items)) : null,
      currency: row.entity === 'order' ? (row.currency ?? null) : null,
      parked: parked?.reason ?? null,
      supersedes,
      skippedLines,
      fields: isDry && operation === 'update' ? changedFields(acknowledged.get(sourceKey) ?? null, message.record) : [],
    });
  }
}
