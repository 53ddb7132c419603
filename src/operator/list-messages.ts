import type { Entity } from '../model/record.js';
import type { MessageState, Operation, ParkClass } from '../outbound/outbox/message.js';
import { placeholders } from '../store/rows.js';
import type { SqlValue, Tx } from '../store/store.js';

/** Which messages are meant. What is absent filters nothing. */
export interface MessageFilter {
  states?: readonly MessageState[];
  entity?: Entity;
  /** Keys of the ERP, or the numbers that people know. */
  keys?: readonly string[];
  parkClass?: ParkClass;
  /** Text that the reason contains, in any case. */
  reasonLike?: string;
}

/** The filter as a condition over table `m`, with its parameters. */
export function filterSql(filter: MessageFilter): { where: string; parameters: SqlValue[] } {
  const conditions: string[] = ['1=1'];
  const parameters: SqlValue[] = [];
  if (filter.states) {
    conditions.push(`m.state IN ${placeholders(filter.states.length)}`);
    parameters.push(...filter.states);
  }
  if (filter.entity) {
    conditions.push('m.entity=?');
    parameters.push(filter.entity);
  }
  if (filter.keys) {
    // The entities are named so that both indexes, which begin with the entity, can be used.
    const list = placeholders(filter.keys.length);
    conditions.push(`m.entity IN ('customer','order') AND (m.source_key IN ${list} OR m.number IN ${list})`);
    parameters.push(...filter.keys, ...filter.keys);
  }
  if (filter.parkClass) {
    conditions.push("m.state='parked' AND m.park_class=?");
    parameters.push(filter.parkClass);
  }
  if (filter.reasonLike !== undefined) {
    conditions.push("LOWER(m.reason) LIKE LOWER(?) ESCAPE '!'");
    parameters.push(`%${filter.reasonLike.replace(/[!%_]/g, '!$&')}%`);
  }
  return { where: conditions.join(' AND '), parameters };
}

export interface ListedMessage {
  id: number;
  entity: Entity;
  sourceKey: string;
  number: string | null;
  revision: number;
  operation: Operation;
  state: MessageState;
  parkClass: ParkClass | null;
  reason: string | null;
  attempts: number;
  nextAttemptAt: number;
  capturedAt: number;
  closedAt: number | null;
  serviceId: string | null;
  flag: string | null;
}

/** The newest messages that match, newest first. */
export async function listMessages(tx: Tx, filter: MessageFilter, limit: number): Promise<ListedMessage[]> {
  const { where, parameters } = filterSql(filter);
  const rows = await tx.select(
    `SELECT m.id, m.entity, m.source_key, m.number, m.revision, m.operation, m.state, m.park_class, m.reason, m.attempts,
            m.next_attempt_at, m.captured_at, m.closed_at, m.service_id, m.flag
       FROM outbox_message m WHERE ${where} ORDER BY m.id DESC LIMIT ${Math.trunc(limit)}`,
    parameters,
  );
  return rows.map((row) => ({
    id: Number(row.id),
    entity: row.entity,
    sourceKey: row.source_key,
    number: row.number,
    revision: row.revision,
    operation: row.operation,
    state: row.state,
    parkClass: row.park_class,
    reason: row.reason,
    attempts: row.attempts,
    nextAttemptAt: Number(row.next_attempt_at),
    capturedAt: Number(row.captured_at),
    closedAt: row.closed_at === null ? null : Number(row.closed_at),
    serviceId: row.service_id,
    flag: row.flag,
  }));
}

export async function countMessages(tx: Tx, filter: MessageFilter): Promise<number> {
  const { where, parameters } = filterSql(filter);
  const [row] = await tx.select<{ n: number }>(`SELECT COUNT(*) AS n FROM outbox_message m WHERE ${where}`, parameters);
  return Number(row?.n ?? 0);
}

export const groupings = ['reason', 'state', 'entity'] as const;
export type Grouping = (typeof groupings)[number];

export interface MessageGroup {
  /** The state, the entity, or the reason with every number written as `#`. */
  group: string;
  parkClass: string | null;
  count: number;
  /** When the oldest of the group was captured, in milliseconds since 1970. */
  oldestAt: number;
}

/** Neither database has a regular expression that both understand, but ten REPLACEs are the same on both. */
const reasonWithoutDigits = [...'0123456789'].reduce(
  (sql, digit) => `REPLACE(${sql},'${digit}','#')`,
  "COALESCE(m.reason,'')",
);

const groupSql: Record<Grouping, string> = { reason: reasonWithoutDigits, state: 'm.state', entity: 'm.entity' };

/** Messages that match, counted by what they have in common, the largest group first. "Order 17" and "order 4711" are one. */
export async function groupMessages(
  tx: Tx,
  filter: MessageFilter,
  by: Grouping,
  limit: number,
): Promise<MessageGroup[]> {
  const { where, parameters } = filterSql(filter);
  const parkClass = by === 'entity' ? 'NULL' : 'm.park_class';
  const rows = await tx.select(
    `SELECT ${groupSql[by]} AS grp, ${parkClass} AS cls, COUNT(*) AS n, MIN(m.captured_at) AS oldest
       FROM outbox_message m WHERE ${where} GROUP BY grp, cls ORDER BY n DESC LIMIT 10000`,
    parameters,
  );
  const groups = new Map<string, MessageGroup>();
  for (const row of rows) {
    const group = by === 'reason' ? String(row.grp).replace(/#+/g, '#') : String(row.grp);
    const name = JSON.stringify([group, row.cls]);
    const known = groups.get(name);
    groups.set(name, {
      group,
      parkClass: row.cls,
      count: Number(row.n) + (known?.count ?? 0),
      oldestAt: Math.min(Number(row.oldest), known?.oldestAt ?? Number.POSITIVE_INFINITY),
    });
  }
  return [...groups.values()].sort((a, b) => b.count - a.count).slice(0, limit);
}

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
