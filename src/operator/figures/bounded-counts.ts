import { defaultSource, type Entity, entities } from '../../model/record.js';
import { type MessageState, messageStates, openStates, type ParkClass } from '../../outbound/outbox/message.js';
import { capturedSources } from '../../store/job-runs.js';
import type { Tx } from '../../store/store.js';
import type { OutboxCounts } from '../list-messages.js';

/** Their rows are read one by one, which costs more than a count from the index. */
const mostAged = 10_000;
/** The first that are due of each kind: so many are looked at for the one that has been open longest. */
const mostLooked = 1000;

/** Counts like `countOutbox`, from at most `most` messages of each state and entity: `most` means that many or more. */
export async function countOutboxUpTo(tx: Tx, most: number): Promise<OutboxCounts> {
  const limit = Math.trunc(most);
  return {
    ...(await countStatesUpTo(tx, limit, messageStates)),
    parked: await tx.rows<{ parkClass: ParkClass; count: number }>(
      `SELECT park_class, COUNT(*) AS count FROM (SELECT park_class FROM outbox_message WHERE state='parked' LIMIT ${limit}) AS s
        GROUP BY park_class ORDER BY COUNT(*) DESC`,
    ),
    flagged: await flaggedAmongNewest(tx, Math.min(limit, mostAged)),
    unsettled: await countUpTo(tx, limit, 'unsettled'),
    stranded: null,
  };
}

/** The messages of these states, and since when the oldest wait: from the index alone, however many there are. */
export async function countStatesUpTo(
  tx: Tx,
  most: number,
  states: readonly MessageState[],
): Promise<Pick<OutboxCounts, 'byState' | 'oldestPendingAt' | 'oldestInDoubtAt'>> {
  const byState = (await countEach(tx, most, states)).filter(({ count }) => count > 0);
  const aged = Math.min(Math.trunc(most), mostAged);
  return {
    byState,
    oldestPendingAt: await oldestAt(tx, 'pending', aged),
    oldestInDoubtAt: await oldestAt(tx, 'in_doubt', aged),
  };
}

/** One statement for all of them, in this order. */
async function countEach(tx: Tx, most: number, states: readonly MessageState[]): Promise<OutboxCounts['byState']> {
  const kinds = states.flatMap((state) => entities.map((entity) => ({ state, entity })));
  const each = kinds.map(
    ({ state, entity }, nth) => `SELECT ${nth} AS nth, COUNT(*) AS count FROM
      (SELECT 1 AS one FROM outbox_message WHERE state='${state}' AND entity='${entity}' LIMIT ${Math.trunc(most)}) AS s${nth}`,
  );
  const counts = await tx.rows<{ nth: number; count: number }>(each.join(' UNION ALL '));
  return kinds.map((kind, at) => ({ ...kind, count: counts.find(({ nth }) => nth === at)?.count ?? 0 }));
}

async function countUpTo(tx: Tx, most: number, from: string): Promise<number> {
  const sql = `SELECT COUNT(*) FROM (SELECT 1 AS one FROM ${from} LIMIT ${Math.trunc(most)}) AS s`;
  return (await tx.value<number>(sql)) ?? 0;
}

/** No index leads to them, and among a million delivered messages there may be none: those of the newest are counted. */
async function flaggedAmongNewest(tx: Tx, limit: number): Promise<number> {
  const newest = `SELECT state, flag_code FROM outbox_message ORDER BY id DESC LIMIT ${limit}`;
  const sql = `SELECT COUNT(*) FROM (${newest}) AS n WHERE state='delivered' AND flag_code IS NOT NULL`;
  return (await tx.value<number>(sql)) ?? 0;
}

/** The number of messages on their way, and the age of the oldest; of each state and entity at most so many are counted. */
export async function readBacklog(tx: Tx, most: number): Promise<{ waiting: number; oldestAt: number | null }> {
  const limit = Math.trunc(most);
  const counts = await countEach(tx, limit, ['pending', 'sending', 'in_doubt']);
  const waiting = counts.reduce((sum, { count }) => sum + count, 0);
  return { waiting, oldestAt: await oldestAt(tx, 'pending', limit) };
}

/** A record that is neither acknowledged nor parked. */
export interface OpenRecord {
  entity: Entity;
  sourceKey: string;
  capturedAt: number;
}

/** True of an open message, in SQL. */
export const isOpenSql = `state IN (${openStates.map((state) => `'${state}'`).join(',')})`;

/** The one that has been open longest; null: none is. @param most as with `countOutboxUpTo`; infinite: all are looked at */
export async function oldestOpen(tx: Tx, most = mostLooked): Promise<OpenRecord | null> {
  const id = Number.isFinite(most)
    ? await oldestId(tx, openStates, Math.min(Math.trunc(most), mostLooked))
    : await tx.value<number>(`SELECT MIN(id) FROM outbox_message WHERE ${isOpenSql}`);
  if (id === null || id === undefined) return null;
  const [found] = await tx.rows<OpenRecord>('SELECT entity, source_key, captured_at FROM outbox_message WHERE id=?', [
    id,
  ]);
  return found ?? null;
}

/** Among the first that are due of each kind: the oldest of all, unless more than `limit` wait. Ids ascend, and stand in the index. */
async function oldestId(tx: Tx, states: readonly MessageState[], limit: number): Promise<number | null> {
  const sources = await capturedSources(tx);
  const kinds = states.flatMap((state) =>
    sources.flatMap((source) => entities.flatMap((entity) => [0, 1].map((flag) => [state, source, entity, flag]))),
  );
  const first = kinds.map(
    (_, nth) => `SELECT id FROM (SELECT id FROM outbox_message
      WHERE state=? AND source=? AND entity=? AND is_backlog=? ORDER BY next_attempt_at, delivered_at, id LIMIT ${limit}) AS s${nth}`,
  );
  const oldest = `SELECT MIN(id) FROM (${first.join(' UNION ALL ')}) AS f`;
  return (await tx.value<number>(oldest, kinds.flat())) ?? null;
}

async function oldestAt(tx: Tx, state: MessageState, limit: number): Promise<number | null> {
  const id = await oldestId(tx, [state], limit);
  return id === null
    ? null
    : ((await tx.value<number>('SELECT captured_at FROM outbox_message WHERE id=?', [id])) ?? null);
}

/** True if anything of the entity waits for `waybill confirm`. */
export async function isAnythingHeld(tx: Tx, entity: Entity, source = defaultSource): Promise<boolean> {
  const sql =
    "SELECT id FROM outbox_message WHERE state='parked' AND entity=? AND source=? AND park_class='held' LIMIT 1";
  return (await tx.value(sql, [entity, source])) !== undefined;
}
