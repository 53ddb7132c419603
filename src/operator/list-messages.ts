import type { Fact } from '../model/facts/fact.js';
import type { Entity } from '../model/record.js';
import type { MessageState, ParkClass } from '../outbound/outbox/message.js';
import { factOf, withFact } from '../store/fact-columns.js';
import { joinConditions, ofRecords, placeholders } from '../store/rows.js';
import type { Tx } from '../store/store.js';
import type { FoundRecord } from './find-records.js';
import { likeness } from './likeness.js';
import type { StoryMessage } from './tell-story.js';

/** Ids from `from` on and below `below`. */
export interface IdRange {
  from: number;
  below: number;
}

/** Which messages are meant. An absent field filters nothing. */
export interface MessageFilter {
  states?: readonly MessageState[];
  entity?: Entity;
  /** One of several ERPs. */
  source?: string;
  /** Only messages of these records; `recordsNamed` and `recordsMeant` make them of what people type. */
  records?: readonly Pick<FoundRecord, 'entity' | 'sourceKey'>[];
  parkClass?: ParkClass;
  /** Tells if a reason is meant, such as by what its sentence says. No database can. */
  isReason?: (reason: Fact) => boolean;
}

/** Tells if the filter means this reason. */
export function meansReason({ isReason }: MessageFilter, reason: Fact | null): boolean {
  return isReason === undefined || (reason !== null && isReason(reason));
}

/** Rows that are read at once to look at their reasons. */
const batchSize = 1_000;

/**
 * Rows whose reason the filter means.
 * @param read the rows in the order of their ids that come after the one before, at most so many
 */
export async function rowsMeant<Row extends { id: number; reasonCode: string | null; reasonData: string | null }>(
  filter: MessageFilter,
  limit: number,
  read: (before: Row | null, most: number) => Promise<Row[]>,
): Promise<Row[]> {
  if (filter.isReason === undefined) return read(null, limit);
  const found: Row[] = [];
  for (let last: Row | null = null; found.length < limit; ) {
    const rows: Row[] = await read(last, batchSize);
    found.push(...rows.filter(({ reasonCode, reasonData }) => meansReason(filter, factOf(reasonCode, reasonData))));
    last = rows.at(-1) ?? null;
    if (rows.length < batchSize) break;
  }
  return found.slice(0, limit);
}

/**
 * The filter as a condition over table `m`, with its parameters.
 * @param isScan rows are read in the order of their ids: the index of states would lead to a million rows that have to be sorted
 */
export function filterSql({ states, entity, source, records, parkClass, isReason }: MessageFilter, isScan = false) {
  const state = isScan ? "COALESCE(m.state,'')" : 'm.state';
  return joinConditions('AND', [
    [`${state} IN ${placeholders(states?.length ?? 0)}`, ...(states ?? [undefined])],
    ['m.entity=?', entity],
    ['m.source=?', source],
    ofRecords(records, 'm.'),
    [`${state}='parked' AND m.park_class=?`, parkClass],
    ...(isReason === undefined ? [] : ([['m.reason_code IS NOT NULL']] as const)),
  ]);
}

export interface ListedMessage
  extends Omit<
    StoryMessage,
    'generation' | 'customerKey' | 'idempotencyKey' | 'bodyHash' | 'wasSent' | 'firstSentAt' | 'endedAt'
  > {
  entity: Entity;
  sourceKey: string;
}

/** Time to list with a message: of its next try while it waits for one, else of its end. */
export function listedTime({ state, nextAttemptAt, closedAt }: ListedMessage): number | null {
  return state === 'pending' || state === 'in_doubt' ? nextAttemptAt : closedAt;
}

/** The newest messages that match, newest first; of those between two ids, where these are given. */
export async function listMessages(
  tx: Tx,
  filter: MessageFilter,
  limit: number,
  between?: IdRange & { isScan: boolean },
): Promise<ListedMessage[]> {
  const matching = filterSql(filter, between?.isScan);
  // Few match: a database that would rather walk down the ids than sort them would walk past a million.
  const order = between && !between.isScan ? 'm.id+0' : 'm.id';
  const where = between ? `m.id>=? AND m.id<? AND ${matching.where}` : matching.where;
  const parameters = between ? [between.from, between.below, ...matching.parameters] : matching.parameters;
  type Row = Omit<ListedMessage, 'reason' | 'flag'> & { reasonCode: string | null; reasonData: string | null };
  const rows = await rowsMeant<Row>(filter, limit, (last, most) =>
    tx.rows(
      `SELECT m.id, m.entity, m.source_key, m.number, m.revision, m.operation, m.state, m.park_class, m.reason_code,
              m.reason_data, m.attempts, m.next_attempt_at, m.waits_for, m.captured_at, m.closed_at, m.service_id, m.flag_code, m.flag_data
         FROM outbox_message m WHERE ${where}${last ? ' AND m.id<?' : ''} ORDER BY ${order} DESC LIMIT ${Math.trunc(most)}`,
      last ? [...parameters, last.id] : parameters,
    ),
  );
  return rows.map((row) => withFact(withFact(row, 'reason'), 'flag'));
}

export async function countMessages(tx: Tx, filter: MessageFilter): Promise<number> {
  const { where, parameters } = filterSql(filter);
  if (filter.isReason === undefined)
    return (await tx.value<number>(`SELECT COUNT(*) FROM outbox_message m WHERE ${where}`, parameters)) ?? 0;
  const reasons = await tx.rows<{ reasonCode: string; reasonData: string; count: number }>(
    `SELECT m.reason_code, m.reason_data, COUNT(*) AS count FROM outbox_message m WHERE ${where}
      GROUP BY m.reason_code, m.reason_data`,
    parameters,
  );
  const counted = reasons.filter(({ reasonCode, reasonData }) => meansReason(filter, factOf(reasonCode, reasonData)));
  return counted.reduce((sum, { count }) => sum + count, 0);
}

export const groupings = ['reason', 'state', 'entity'] as const;
export type Grouping = (typeof groupings)[number];

interface MessageGroup {
  /** The state or the entity; empty where messages are grouped by their reason. */
  group: string;
  /** That of one of the group; null: it has none, or is grouped by something else. */
  reason: Fact | null;
  /** The kind of record that the reason is about. */
  entity: Entity;
  parkClass: string | null;
  count: number;
  /** When the oldest of the group was captured, in milliseconds since 1970. */
  oldestAt: number;
}

/** Neither database has a regular expression that both understand, but ten REPLACEs are the same on both. */
const dataWithoutDigits = [...'0123456789'].reduce(
  (sql, digit) => `REPLACE(${sql},'${digit}','#')`,
  "COALESCE(m.reason_data,'')",
);

/** Messages that match, counted by what they have in common, the largest group first. "Order 17" and "order 4711" are one. */
export async function groupMessages(
  tx: Tx,
  filter: MessageFilter,
  by: Grouping,
  limit: number,
): Promise<MessageGroup[]> {
  const { where, parameters } = filterSql(filter);
  const isByReason = by === 'reason' || filter.isReason !== undefined;
  // A number may decide whether a reason is meant.
  const data = filter.isReason === undefined ? dataWithoutDigits : 'm.reason_data';
  const reason = isByReason ? `COALESCE(m.reason_code,'') AS code, ${data} AS data` : "'' AS code, '' AS data";
  const rows = await tx.rows<{
    grp: string;
    cls: string | null;
    code: string;
    sample: string | null;
    entity: Entity;
    n: number;
    oldestAt: number;
  }>(
    `SELECT ${by === 'reason' ? "''" : `m.${by}`} AS grp, ${by === 'entity' ? 'NULL' : 'm.park_class'} AS cls, ${reason},
            MIN(m.reason_data) AS sample, MIN(m.entity) AS entity, COUNT(*) AS n, MIN(m.captured_at) AS oldest_at
       FROM outbox_message m WHERE ${where} GROUP BY grp, cls, code, data ORDER BY n DESC LIMIT 10000`,
    parameters,
  );
  const groups = new Map<string, MessageGroup>();
  for (const { grp, cls, code, sample, entity, n, oldestAt } of rows) {
    const fact = code === '' ? null : factOf<Fact>(code, sample);
    if (!meansReason(filter, fact)) continue;
    const reason = by === 'reason' ? fact : null;
    const name = JSON.stringify([reason === null ? grp : likeness(reason), cls]);
    const known = groups.get(name) ?? { count: 0, oldestAt };
    groups.set(name, {
      group: grp,
      reason,
      entity,
      parkClass: cls,
      count: n + known.count,
      oldestAt: Math.min(oldestAt, known.oldestAt),
    });
  }
  return [...groups.values()].sort((a, b) => b.count - a.count).slice(0, limit);
}

/** The counts of the outbox. */
export interface OutboxCounts {
  byState: { state: MessageState; entity: Entity; count: number }[];
  parked: { parkClass: ParkClass; count: number }[];
  /** When the oldest message that is still open was captured; null: none is. */
  oldestPendingAt: number | null;
  oldestInDoubtAt: number | null;
  /** Delivered, but with a flag that asks a person to look; null: not counted. */
  flagged: number | null;
  /** Orders that wait for their lines. */
  unsettled: number;
  /**
   * Messages that will never be sent, because the record they wait for is not being sent: changes to a record that was
   * never acknowledged and whose create was discarded, and orders of such a customer. null: not counted.
   */
  stranded: number | null;
}

export async function countOutbox(tx: Tx): Promise<OutboxCounts> {
  const count = async (sql: string) => (await tx.value<number>(`SELECT COUNT(*) FROM ${sql}`)) ?? 0;
  const oldestAt = async (state: MessageState) =>
    (await tx.value<number>('SELECT MIN(captured_at) FROM outbox_message WHERE state=?', [state])) ?? null;
  const isUnderWay = "o.state IN ('pending','sending','in_doubt','parked')";
  return {
    byState: await tx.rows(
      'SELECT state, entity, COUNT(*) AS count FROM outbox_message GROUP BY state, entity ORDER BY state, entity',
    ),
    parked: await tx.rows(
      `SELECT park_class, COUNT(*) AS count FROM outbox_message WHERE state='parked' GROUP BY park_class
        ORDER BY COUNT(*) DESC`,
    ),
    oldestPendingAt: await oldestAt('pending'),
    oldestInDoubtAt: await oldestAt('in_doubt'),
    flagged: await count("outbox_message WHERE state='delivered' AND flag_code IS NOT NULL"),
    unsettled: await count('unsettled'),
    stranded: await count(
      `(
      SELECT m.id FROM outbox_message m LEFT JOIN binding w ON w.entity=m.entity AND w.source_key=m.source_key
       WHERE m.state IN ('pending','in_doubt') AND m.operation<>'create' AND w.source_key IS NULL AND NOT EXISTS
         (SELECT 1 FROM outbox_message o WHERE o.source_key=m.source_key AND o.entity=m.entity AND o.revision<m.revision
             AND ${isUnderWay})
      UNION
      SELECT m.id FROM outbox_message m LEFT JOIN binding c ON c.source_key=m.customer_key AND c.entity='customer'
       WHERE m.state IN ('pending','in_doubt') AND m.customer_key IS NOT NULL AND c.source_key IS NULL AND NOT EXISTS
         (SELECT 1 FROM outbox_message o WHERE o.source_key=m.customer_key AND o.entity='customer' AND ${isUnderWay})
    ) AS s`,
    ),
  };
}
