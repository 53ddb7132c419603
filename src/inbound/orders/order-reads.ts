import type { OrderReading, ReadState } from '../../outbound/outbox/binding-holders.js';
import { factOf } from '../../store/fact-columns.js';
import type { Tx } from '../../store/store.js';

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
  const [row] = await tx.rows(
    `SELECT source_key, service_id, revision, acknowledged, read_state, read_id, read_flag_code, read_flag_data, service_status, service_total
       FROM binding WHERE entity='order' AND ${column}=?${forUpdate ? tx.forUpdate : ''}`,
    [value as string],
  );
  if (!row) return null;
  const { sourceKey, serviceId, revision, acknowledged } = row;
  // A reading of another id says nothing of this one.
  const reading =
    row.readId === serviceId
      ? {
          state: row.readState,
          status: row.serviceStatus,
          total: row.serviceTotal,
          flag: factOf(row.readFlagCode, row.readFlagData),
        }
      : { state: 'open' as const, status: null, total: null, flag: null };
  return { sourceKey, serviceId, revision, acknowledged, reading };
}

/** True if a request of ours about this order is under way at this moment. */
export async function isBeingSent(tx: Tx, sourceKey: string): Promise<boolean> {
  const sql = "SELECT id FROM outbox_message WHERE entity='order' AND source_key=? AND state='sending' LIMIT 1";
  return (await tx.value(sql, [sourceKey])) !== undefined;
}

/** True if a request of ours to this order is under way that may have taken effect already. */
export async function isMoving(tx: Tx, sourceKey: string): Promise<boolean> {
  const rows = await tx.select(
    `SELECT id FROM outbox_message WHERE entity='order' AND source_key=?
        AND (state IN ('sending','in_doubt') OR (state IN ('pending','parked') AND was_sent=1)) LIMIT 1`,
    [sourceKey],
  );
  return rows.length > 0;
}

/** True if an order that was sent before this time has no answer yet, so that the service may know it by an id that we don't. */
export async function hasCreateUnderWay(tx: Tx, sentBefore: number): Promise<boolean> {
  const rows = await tx.select(
    `SELECT id FROM outbox_message
      WHERE entity='order' AND state IN ('sending','in_doubt') AND operation='create'
        AND CASE WHEN was_sent=1 THEN COALESCE(first_sent_at, 0) ELSE claimed_at END<=? LIMIT 1`,
    [sentBefore],
  );
  return rows.length > 0;
}

/** The delivered orders, by what came of reading them back. */
export async function countReadBack(tx: Tx) {
  type Counts = { state: ReadState; orders: number; readings: number; flagged: number; oldest: number | null };
  const rows = await tx.rows<Counts>(
    `SELECT read_state AS state, COUNT(*) AS orders, COUNT(read_at) AS readings, COUNT(read_flag_code) AS flagged,
            MIN(read_at) AS oldest
       FROM binding WHERE entity='order' GROUP BY read_state`,
  );
  const of = (state: ReadState) => rows.find((row) => row.state === state)?.orders ?? 0;
  const sum = (column: 'orders' | 'readings' | 'flagged') => rows.reduce((total, row) => total + row[column], 0);
  const oldest = rows.flatMap((row) => (row.state === 'final' || row.oldest === null ? [] : [row.oldest]));
  return {
    orders: sum('orders'),
    /** Those of them that were read at least once. */
    read: sum('readings'),
    final: of('final'),
    gone: of('gone'),
    /** With a total that a person should look at. */
    flagged: sum('flagged'),
    /** The oldest reading of an order that is still read; null: none was read. */
    oldestReadAt: oldest.length === 0 ? null : Math.min(...oldest),
  };
}
