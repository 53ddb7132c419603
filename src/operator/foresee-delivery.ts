import type { Settings } from '../config/settings.js';
import type { ErpReader } from '../erp/erp-reader.js';
import { sentCurrency } from '../erp/mapping/money.js';
import { type OrderItem, orderTotal, pluralOf } from '../model/record.js';
import type { JobContext } from '../ops/job-context.js';
import { capture } from '../outbound/capture/capture.js';
import type { TouchedRecord } from '../outbound/capture/capture-page.js';
import type { SyncOptions, SyncResult } from './sync.js';

export type ForeseenDelivery = Awaited<ReturnType<typeof foreseeDelivery>>;

export interface ForeseenOrder {
  key: string;
  number: string | null;
  changedAt: string | null;
}

/** The requests that delivery would send if it began now: read from the ERP and the outbox, in memory bounded by a page. */
export async function foreseeDelivery(context: JobContext, reader: ErpReader) {
  const { settings } = context;
  const totals = new Map<string, bigint>();
  const add = (currency: string | null, total: bigint) => {
    const code = currency ?? 'unknown';
    totals.set(code, (totals.get(code) ?? 0n) + total);
  };
  let oldest = null as ForeseenOrder | null;
  let newest = null as ForeseenOrder | null;
  const meet = (order: ForeseenOrder) => {
    if (!oldest || comparable(order) < comparable(oldest)) oldest = order;
    if (!newest || comparable(order) > comparable(newest)) newest = order;
  };
  const captured = { customers: 0, orders: 0 };
  const removed = { customers: 0, orders: 0 };
  const superseded = new Set<number>();
  const result = await capture(context, reader, {
    dryRun: true,
    onTouched: (records: readonly TouchedRecord[]) => {
      for (const record of records) {
        if (record.supersedes !== null) superseded.add(record.supersedes);
        if (record.parked !== null || record.operation === 'withdraw') continue;
        if (record.operation === 'delete') {
          removed[pluralOf(record.entity)]++;
          continue;
        }
        captured[pluralOf(record.entity)]++;
        if (record.entity !== 'order') continue;
        add(record.currency ?? settings.amounts.currency, BigInt(record.total ?? 0));
        meet({ key: record.sourceKey, number: record.number, changedAt: record.changedAt });
      }
    },
  });
  const open = { customers: 0, orders: 0 };
  let afterId = 0;
  for (;;) {
    const rows = await context.store.read('read what waits in the outbox', (tx) =>
      tx.rows(
        `SELECT m.id, m.entity, m.source_key, m.number, m.operation, m.source_changed_at, b.record FROM outbox_message m
           LEFT JOIN message_body b ON b.message_id=m.id
          WHERE m.id>? AND m.state IN ('pending','sending','in_doubt') ORDER BY m.id LIMIT 500`,
        [afterId],
      ),
    );
    for (const row of rows) {
      afterId = row.id;
      // The ERP holds a newer form of it, which is counted above.
      if (superseded.has(afterId)) continue;
      if (row.operation === 'delete') {
        removed[pluralOf(row.entity)]++;
        continue;
      }
      open[pluralOf(row.entity)]++;
      if (row.entity !== 'order') continue;
      const total = orderTotal((JSON.parse(row.record ?? '{}') as { items?: OrderItem[] }).items ?? []);
      add(sentCurrency(settings, row.record), total);
      meet({ key: row.sourceKey, number: row.number, changedAt: row.sourceChangedAt });
    }
    if (rows.length < 500) break;
  }
  return {
    /** The ERP's records that are not in the outbox yet. */
    captured,
    /** The records that would be deleted at the service. */
    removed,
    parked: result.parked,
    waiting: result.waiting,
    /** The outbox's messages that are not delivered yet. */
    open,
    /** Sum of qty × price of all these orders by currency, in minor units. */
    ordersTotals: Object.fromEntries([...totals].map(([currency, total]) => [currency, String(total)])),
    oldest,
    newest,
    ...(await excludedOrders(reader)),
  };
}

/** Sorted by the time of the last change if it is known, else by the number. */
function comparable(order: ForeseenOrder): string {
  return order.changedAt ?? order.number ?? order.key;
}

export interface ExcludedOrders {
  /** Orders that `orders.startFrom` keeps out for good. */
  excludedByStartFrom: number;
  /** Orders that it keeps out until they have a value in its column. */
  withoutStart: number;
}

export async function excludedOrders(reader: ErpReader): Promise<ExcludedOrders> {
  const { older, withoutStart } = await reader.countExcludedByStartFrom();
  return { excludedByStartFrom: older, withoutStart };
}

/**
 * The orders that startFrom keeps out, if a pass over all orders read none because none may be sent, and not because
 * none has changed.
 */
export async function excludedFromPass(
  openReader: () => Promise<ErpReader>,
  filter: SyncOptions['filter'],
  capture: SyncResult['capture'],
): Promise<ExcludedOrders> {
  const none = { excludedByStartFrom: 0, withoutStart: 0 };
  const { entity, ...ofRows } = filter ?? {};
  if (entity === 'customer' || Object.keys(ofRows).length > 0) return none;
  if (capture === null || capture.stopped || capture.read.orders > 0) return none;
  const reader = await openReader();
  return (await reader.count('order')) > 0 ? none : excludedOrders(reader);
}

/** `1 without a created_at: give it one in the ERP`. Null where there are none. */
export function withoutStartInWords(
  { withoutStart }: ExcludedOrders,
  { startFrom }: Settings['orders'],
): string | null {
  if (withoutStart === 0) return null;
  // With several sources, the first may have no startFrom.
  const column = startFrom === 'all' ? 'value in the column of orders.startFrom' : startFrom.column;
  return `${withoutStart} without a ${column}: give ${withoutStart === 1 ? 'it' : 'each'} one in the ERP`;
}

/** Why no order may be sent, as lines. */
export function exclusionInWords(excluded: ExcludedOrders, orders: Settings['orders']): string[] {
  const { excludedByStartFrom: older } = excluded;
  const without = withoutStartInWords(excluded, orders);
  const causes = [older > 0 && `${older} older ones, for good`, without].filter((cause) => typeof cause === 'string');
  return causes.map((cause) => `No order may be sent: orders.startFrom leaves out ${cause}.`);
}
