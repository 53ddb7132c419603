import type { ErpPage, ReadCustomer, ReadOrder } from '../../erp/erp-reader.js';
import { type Entity, orderTotal } from '../../model/record.js';
import type { JobContext } from '../../ops/job-context.js';
import { killPoint } from '../../ops/kill-point.js';
import { writeCursor } from '../../store/cursors.js';
import type { Lease } from '../../store/lease.js';
import type { Tx } from '../../store/store.js';
import { type RefreshedBinding, refreshBindings } from '../outbox/bindings.js';
import { changedFields } from '../outbox/compose-update.js';
import { turnedKeysBrake } from './brake.js';
import { acknowledgedRecords, type KnownRecord, knownRecords } from './known-records.js';
import { brakeSource } from './pass-brakes.js';
import {
  contentHash,
  isKnown,
  type Plan,
  planRow,
  type ReadRow,
  type RowPass,
  refreshedBinding,
  type SkippedRecord,
  writePlans,
} from './plan-row.js';
import { type FirstSeen, firstSeen, orderReadiness, writeUnsettled } from './unsettled-orders.js';

export interface CapturePageWork extends RowPass {
  entity: Entity;
  page: ErpPage<ReadCustomer | ReadOrder>;
  /** Orders that were asked for because they wait for their lines; those that the page lacks are forgotten. */
  unsettledKeys: readonly string[];
  /** Null in a dry run. */
  lease: Lease | null;
  /** Skip customers of a customer page that were never captured: nothing refers to them yet. */
  knownCustomersOnly: boolean;
  /** How many rows of the page may still be written. */
  room: number;
  cursor: { changedAt: string } | null;
  /** Customers that a dry run has counted on an earlier page. */
  shownCustomers: Set<string>;
  /** Known keys that belong to another record now, as earlier pages of the pass met them. */
  turnedKeys: number;
}

export interface CapturePageResult {
  captured: { customers: number; orders: number };
  unchanged: number;
  parked: number;
  /** What waits for `waybill confirm`, and why. */
  held: { entity: Entity; reason: string }[];
  /** Keys of the orders that wait for their lines. */
  waiting: string[];
  skipped: SkippedRecord[];
  touched: TouchedRecord[];
  /** Known keys that belong to another record now. */
  turnedKeys: number;
  /** What to say in the log now that it is written, or null. */
  alert: string | null;
}

/** A record that was written to the outbox (or would be, in a dry run). */
export interface TouchedRecord {
  entity: Entity;
  sourceKey: string;
  number: string | null;
  customerKey: string | null;
  operation: string;
  changedAt: string | null;
  /** Sum of qty × price in minor units as text; null for customers and for rows that can't be mapped. */
  total: string | null;
  /** Why it waits for a person, or null. */
  parked: string | null;
  /** The unsent message that it replaces, or null. */
  supersedes: number | null;
  /** Names of the fields that an update would change; only in a dry run. */
  fields: string[];
}

/** One page of the ERP becomes messages, audit lines and the cursor, in one transaction. */
export async function capturePage(context: JobContext, work: CapturePageWork): Promise<CapturePageResult> {
  if (work.lease === null) return context.store.read('compare with the ERP', (tx) => planAndWrite(context, work, tx));
  const written = await work.lease.write('write what was captured', async (tx) => {
    const result = await planAndWrite(context, work, tx);
    if (result.touched.length > 0) killPoint('before-capture-commit');
    return result;
  });
  if (written.touched.length > 0) killPoint('after-capture-commit');
  return written;
}

async function planAndWrite(context: JobContext, work: CapturePageWork, tx: Tx): Promise<CapturePageResult> {
  const nowMs = context.nowMs();
  const result: CapturePageResult = {
    captured: { customers: 0, orders: 0 },
    unchanged: 0,
    parked: 0,
    held: [],
    waiting: [],
    skipped: [],
    touched: [],
    turnedKeys: 0,
    alert: null,
  };
  const rows = [...work.page.rows] as ReadRow[];
  const known = await knownRecords(
    tx,
    work.entity,
    rows.map((row) => row.sourceKey),
    work.lease !== null,
  );
  const plans: Plan[] = [];
  const refresh: RefreshedBinding[] = [];
  let room = work.room;

  const seen =
    work.entity === 'order'
      ? await firstSeen(
          tx,
          rows.map((row) => row.sourceKey),
        )
      : new Map<string, FirstSeen>();
  const waiting: (FirstSeen & { sourceKey: string })[] = [];
  const settledKeys: string[] = work.unsettledKeys.filter((key) => !known.has(key));

  for (const row of rows) {
    if (room <= 0) break;
    const record = known.get(row.sourceKey) as KnownRecord;
    if (work.entity === 'customer' && work.knownCustomersOnly && !record.newest && !record.binding) continue;
    let parkedReason: string | null = null;
    if (row.entity === 'order' && row.content.mapped) {
      const hash = contentHash(row);
      const before = seen.get(row.sourceKey);
      const sinceMs = before?.contentHash === hash ? before.firstSeenAt : nowMs;
      const readiness = isKnown(record, hash)
        ? { ready: true as const }
        : orderReadiness({
            totals: row.totals,
            ageSeconds: row.ageSeconds,
            seenSeconds: (nowMs - sinceMs) / 1000,
            settleSeconds: context.settings.orders.settleSeconds,
          });
      const mismatch = readiness.ready ? null : `${orderName(row)}: ${readiness.reason}. Correct the order in the ERP.`;
      // What is parked for this already does not wait once more.
      const isParked = mismatch !== null && isKnown(record, contentHash(row, mismatch));
      if (!readiness.ready && readiness.wait && !isParked) {
        result.waiting.push(row.sourceKey);
        waiting.push({ sourceKey: row.sourceKey, firstSeenAt: sinceMs, contentHash: hash, reason: readiness.reason });
        continue;
      }
      parkedReason = mismatch;
    }
    if (seen.has(row.sourceKey)) settledKeys.push(row.sourceKey);
    const plan = planRow(context, work, row, record, parkedReason, nowMs);
    if (plan === 'unchanged') {
      result.unchanged++;
      const refreshed = refreshedBinding(work, row, record);
      if (refreshed) refresh.push(refreshed);
    } else if ('reason' in plan) result.skipped.push(plan);
    else {
      plans.push(plan);
      room--;
    }
  }

  // The customers of the orders that are written now come along, in the same snapshot and the same transaction.
  if (work.entity === 'order') {
    const wanted = new Set(plans.map((plan) => plan.message.customerKey));
    const all = work.room === Number.POSITIVE_INFINITY;
    const customers = work.page.customers.filter(
      (customer) => (all || wanted.has(customer.sourceKey)) && !work.shownCustomers.has(customer.sourceKey),
    );
    const knownCustomers = await knownRecords(
      tx,
      'customer',
      customers.map((row) => row.sourceKey),
      work.lease !== null,
    );
    const customerPlans = customers.flatMap((row) => {
      const known = knownCustomers.get(row.sourceKey) as KnownRecord;
      const plan = planRow(context, { ...work, force: false }, row, known, null, nowMs);
      // Unchanged customers beside the orders that the page was read for are no news.
      return plan === 'unchanged' || 'reason' in plan ? [] : [plan];
    });
    plans.unshift(...customerPlans);
  }

  const acknowledged =
    work.lease === null
      ? await acknowledgedRecords(
          tx,
          work.entity,
          plans.map((plan) => plan.message.sourceKey),
        )
      : new Map<string, string>();
  for (const { message, row, supersedes } of plans) {
    if (work.lease === null && message.entity === 'customer') work.shownCustomers.add(message.sourceKey);
    if (message.parked) result.parked++;
    if (message.parked?.parkClass === 'conflict') result.turnedKeys++;
    if (message.parked?.parkClass === 'held')
      result.held.push({ entity: message.entity, reason: message.parked.reason });
    if (message.entity === 'order') result.captured.orders++;
    else result.captured.customers++;
    result.touched.push({
      entity: message.entity,
      sourceKey: message.sourceKey,
      number: message.number,
      customerKey: message.customerKey,
      operation: message.operation,
      changedAt: row.changedAt,
      total: row.entity === 'order' && row.content.mapped ? String(orderTotal(row.content.record.items)) : null,
      parked: message.parked?.reason ?? null,
      supersedes,
      fields:
        work.lease === null && message.operation === 'update'
          ? changedFields(acknowledged.get(message.sourceKey) ?? null, message.record)
          : [],
    });
  }
  if (work.lease === null) return result;

  await writePlans(context, tx, plans, nowMs);
  // In the same transaction: the next pass meets these keys as known.
  const brake = result.turnedKeys > 0 ? turnedKeysBrake(work.turnedKeys + result.turnedKeys) : null;
  if (brake) result.alert = await brakeSource(tx, context, work.entity, brake);
  await refreshBindings(tx, refresh);
  await writeUnsettled(tx, waiting, settledKeys);
  if (work.cursor) await writeCursor(tx, work.entity, work.cursor);
  return result;
}

function orderName(row: ReadOrder): string {
  return `Order ${row.number ?? row.sourceKey}`;
}
