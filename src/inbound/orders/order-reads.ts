import type { Tx } from '../../store/store.js';
import type { OrderReading, ReadState } from './judge-order-read.js';

export interface ReadableOrder {
  sourceKey: string;
  state: ReadState;
  /** When it was asked for last; 0: never. */
  askedAt: number;
}

/**
 * Which orders are read next: never the final ones, none before it has rested, and those first that were asked for longest
 * ago. Pure.
 */
export function ordersToRead<T extends ReadableOrder>(
  orders: readonly T[],
  { nowMs, everyMs, most }: { nowMs: number; everyMs: number; most: number },
): T[] {
  return orders
    .filter(({ state, askedAt }) => state !== 'final' && askedAt + everyMs <= nowMs)
    .sort((a, b) => a.askedAt - b.askedAt || (a.sourceKey < b.sourceKey ? -1 : 1))
    .slice(0, most);
}

/** Orders that were asked for before this time, the stalest of each state first. */
export async function staleOrders(tx: Tx, askedBefore: number, limit: number): Promise<ReadableOrder[]> {
  const orders: ReadableOrder[] = [];
  for (const state of ['open', 'gone'] as const) {
    const rows = await tx.select<{ source_key: string; read_asked_at: number | string }>(
      `SELECT source_key, read_asked_at FROM binding
        WHERE entity='order' AND read_state=? AND read_asked_at<=? ORDER BY read_asked_at LIMIT ${Math.trunc(limit)}`,
      [state, askedBefore],
    );
    orders.push(...rows.map((row) => ({ sourceKey: row.source_key, state, askedAt: Number(row.read_asked_at) })));
  }
  return orders;
}

/** A delivered order with what the service said of it last. */
export interface BoundOrder {
  sourceKey: string;
  serviceId: string;
  revision: number;
  /** The mapped record as JSON that the service acknowledged; null: not known. */
  acknowledged: string | null;
  reading: OrderReading;
}

/** The order that is bound to this id, or under this key; null: none of ours. Locks its row where `forUpdate`. */
export async function boundOrder(
  tx: Tx,
  order: { orderId: string } | { sourceKey: string },
  forUpdate = false,
): Promise<BoundOrder | null> {
  const [column, value] = 'orderId' in order ? ['service_id', order.orderId] : ['source_key', order.sourceKey];
  const [row] = await tx.select(
    `SELECT source_key, service_id, revision, acknowledged, read_state, read_id, read_flag, service_status, service_total
       FROM binding WHERE entity='order' AND ${column}=?${forUpdate ? tx.forUpdate : ''}`,
    [value as string],
  );
  if (!row) return null;
  // What was said of another id says nothing of this one.
  const isOfThis = row.read_id === row.service_id;
  return {
    sourceKey: row.source_key,
    serviceId: row.service_id,
    revision: row.revision,
    acknowledged: row.acknowledged,
    reading: isOfThis
      ? {
          state: row.read_state,
          status: row.service_status,
          total: row.service_total === null ? null : Number(row.service_total),
          flag: row.read_flag,
        }
      : { state: 'open', status: null, total: null, flag: null },
  };
}

/** Whether something of ours is under way to this order that may have taken effect already. */
export async function isMoving(tx: Tx, sourceKey: string): Promise<boolean> {
  const rows = await tx.select(
    `SELECT id FROM outbox_message WHERE entity='order' AND source_key=?
        AND (state IN ('sending','in_doubt') OR (state IN ('pending','parked') AND first_sent_at IS NOT NULL)) LIMIT 1`,
    [sourceKey],
  );
  return rows.length > 0;
}

/** Whether an order that was sent before this time has no answer yet, so that the service may know it by an id that we don't. */
export async function hasCreateUnderWay(tx: Tx, sentBefore: number): Promise<boolean> {
  const rows = await tx.select(
    `SELECT m.id FROM outbox_message m JOIN attempt a ON a.message_id=m.id
      WHERE m.entity='order' AND m.state IN ('sending','in_doubt') AND m.operation='create' AND a.intended_at<=? LIMIT 1`,
    [sentBefore],
  );
  return rows.length > 0;
}

export interface ReadBackCounts {
  /** Delivered orders. */
  orders: number;
  /** Of these: read at least once. */
  read: number;
  final: number;
  gone: number;
  /** With a total that a person should look at. */
  flagged: number;
  /** The oldest reading of an order that is still read; null: none was read. */
  oldestReadAt: number | null;
}

export async function countReadBack(tx: Tx): Promise<ReadBackCounts> {
  const rows = await tx.select(
    `SELECT read_state, COUNT(*) AS orders, COUNT(read_at) AS n, COUNT(read_flag) AS flagged, MIN(read_at) AS oldest
       FROM binding WHERE entity='order' GROUP BY read_state`,
  );
  const of = (state: ReadState) => Number(rows.find((row) => row.read_state === state)?.orders ?? 0);
  const sum = (column: string) => rows.reduce((total, row) => total + Number(row[column]), 0);
  const oldest = rows.flatMap((row) => (row.read_state === 'final' || row.oldest === null ? [] : [Number(row.oldest)]));
  return {
    orders: sum('orders'),
    read: sum('n'),
    final: of('final'),
    gone: of('gone'),
    flagged: sum('flagged'),
    oldestReadAt: oldest.length === 0 ? null : Math.min(...oldest),
  };
}

/** Orders that the service has no more, since this time, with one of them. */
export async function goneSince(tx: Tx, sinceMs: number): Promise<{ count: number; sourceKey: string | null }> {
  const [row] = await tx.select<{ n: number; source_key: string | null }>(
    `SELECT COUNT(*) AS n, MAX(source_key) AS source_key FROM binding
      WHERE entity='order' AND read_state='gone' AND gone_at>?`,
    [sinceMs],
  );
  return { count: Number(row?.n ?? 0), sourceKey: row?.source_key ?? null };
}
