import type { Entity } from '../model/record.js';
import type { MessageState, ParkClass } from '../outbound/outbox/message.js';
import type { Tx } from '../store/store.js';

export interface OutboxCounts {
  byState: { state: MessageState; entity: Entity; count: number }[];
  parked: { parkClass: ParkClass; count: number }[];
  /** When the oldest message that is still open was captured; null: none is. */
  oldestPendingAt: number | null;
  oldestInDoubtAt: number | null;
  /** Delivered, but with a flag that asks a person to look. */
  flagged: number;
  /** Orders that wait for their lines. */
  unsettled: number;
  /**
   * Messages that will never be sent, because nobody sends what they wait for: changes to a record that was never acknowledged
   * and whose create was discarded, and orders of such a customer.
   */
  stranded: number;
}

export async function countOutbox(tx: Tx): Promise<OutboxCounts> {
  const byState = await tx.select(
    'SELECT state, entity, COUNT(*) AS n FROM outbox_message GROUP BY state, entity ORDER BY state, entity',
  );
  const parked = await tx.select(
    "SELECT park_class, COUNT(*) AS n FROM outbox_message WHERE state='parked' GROUP BY park_class ORDER BY n DESC",
  );
  const oldest = await tx.select<{ state: string; at: number }>(
    "SELECT state, MIN(captured_at) AS at FROM outbox_message WHERE state IN ('pending','in_doubt') GROUP BY state",
  );
  const oldestOf = (state: string) => {
    const row = oldest.find((one) => one.state === state);
    return row ? Number(row.at) : null;
  };
  const [flagged] = await tx.select<{ n: number }>(
    "SELECT COUNT(*) AS n FROM outbox_message WHERE state='delivered' AND flag IS NOT NULL",
  );
  const [unsettled] = await tx.select<{ n: number }>('SELECT COUNT(*) AS n FROM unsettled');
  const isUnderWay = "o.state IN ('pending','sending','in_doubt','parked')";
  const [stranded] = await tx.select<{ n: number }>(
    `SELECT COUNT(*) AS n FROM (
      SELECT m.id FROM outbox_message m LEFT JOIN binding w ON w.entity=m.entity AND w.source_key=m.source_key
       WHERE m.state='pending' AND m.operation<>'create' AND w.source_key IS NULL AND NOT EXISTS
         (SELECT 1 FROM outbox_message o WHERE o.source_key=m.source_key AND o.entity=m.entity AND o.revision<m.revision
             AND ${isUnderWay})
      UNION
      SELECT m.id FROM outbox_message m LEFT JOIN binding c ON c.source_key=m.customer_key AND c.entity='customer'
       WHERE m.state='pending' AND m.customer_key IS NOT NULL AND c.source_key IS NULL AND NOT EXISTS
         (SELECT 1 FROM outbox_message o WHERE o.source_key=m.customer_key AND o.entity='customer' AND ${isUnderWay})
    ) AS s`,
  );
  return {
    byState: byState.map((row) => ({ state: row.state, entity: row.entity, count: Number(row.n) })),
    parked: parked.map((row) => ({ parkClass: row.park_class, count: Number(row.n) })),
    oldestPendingAt: oldestOf('pending'),
    oldestInDoubtAt: oldestOf('in_doubt'),
    flagged: Number(flagged?.n ?? 0),
    unsettled: Number(unsettled?.n ?? 0),
    stranded: Number(stranded?.n ?? 0),
  };
}
