import { type AuditFilter, type AuditLine, readAuditBetween } from '../../audit/read-audit.js';
import { listEvents, type StoredEvent } from '../../inbound/webhooks/webhook-rows.js';
import { readWebhookStatus } from '../../inbound/webhooks/webhook-status.js';
import type { Tx } from '../../store/store.js';
import {
  countMessages,
  filterSql,
  type IdRange,
  type ListedMessage,
  listMessages,
  type MessageFilter,
} from '../list-messages.js';

/** Counts stop here. */
export const mostCounted = 10_000;

async function boundsOf(tx: Tx, table: 'outbox_message' | 'audit_log') {
  // Asked for both at once, SQLite reads the whole table.
  const end = async (which: 'MIN' | 'MAX') => (await tx.value<number>(`SELECT ${which}(id) FROM ${table}`)) ?? null;
  return { first: await end('MIN'), last: await end('MAX') };
}

/** The number of matches; `mostCounted`: that many or more; null: it would take to read them all. */
export async function countUpTo(tx: Tx, filter: MessageFilter): Promise<number | null> {
  const { records, states, entity, parkClass, isReason } = filter;
  if (records !== undefined) return countMessages(tx, filter);
  const byIndex: MessageFilter = {
    ...(states ? { states } : parkClass && { states: ['parked'] }),
    ...(entity && { entity }),
  };
  const { where, parameters } = filterSql(byIndex);
  const found = await tx.value<number>(
    `SELECT COUNT(*) FROM (SELECT 1 AS one FROM outbox_message m WHERE ${where} LIMIT ${mostCounted}) AS s`,
    parameters,
  );
  if ((found ?? 0) < mostCounted) return parkClass || isReason ? countMessages(tx, filter) : (found ?? 0);
  return parkClass || isReason ? null : mostCounted;
}

/** A page of messages that match, the newest first, and how many match. */
export async function browseMessages(
  tx: Tx,
  filter: MessageFilter,
  before: number | null,
  limit: number,
): Promise<PageOf<ListedMessage> & { count: number | null }> {
  const count = await countUpTo(tx, filter);
  const bounds = await boundsOf(tx, 'outbox_message');
  // The few that match are found by their index.
  if (count !== null && count < mostCounted && (filter.states || filter.records || filter.parkClass)) {
    const below = before ?? (bounds.last ?? 0) + 1;
    const rows = await listMessages(tx, filter, limit + 1, { from: 0, below, isScan: false });
    const next = rows.length > limit ? (rows[limit - 1]?.id ?? null) : null;
    return { rows: rows.slice(0, limit), next, count };
  }
  const page = await newestFirst(bounds, before, limit, (range, most) =>
    listMessages(tx, filter, most, { ...range, isScan: true }),
  );
  return { ...page, count };
}

/** A page of the audit, the newest first. */
export async function browseAudit(
  tx: Tx,
  filter: AuditFilter,
  before: number | null,
  limit: number,
): Promise<PageOf<AuditLine>> {
  const bounds = await boundsOf(tx, 'audit_log');
  const { records, event, outcome, entity } = filter;
  if (records || (event && !outcome && !entity)) {
    const rows = await readAuditBetween(
      tx,
      filter,
      { from: 0, below: before ?? (bounds.last ?? 0) + 1, isScan: false },
      limit + 1,
    );
    return { rows: rows.slice(0, limit), next: rows.length > limit ? (rows[limit - 1]?.id ?? null) : null };
  }
  return newestFirst(bounds, before, limit, (range, most) =>
    readAuditBetween(tx, filter, { ...range, isScan: true }, most),
  );
}

export interface PageOf<Row> {
  rows: Row[];
  /** Below which id the next page begins; null: there is no more. */
  next: number | null;
}

/** The number of ids that are looked through at a time, and of such looks for one page: the reader asks for more. */
const idsAtATime = 25_000;
const mostLooks = 4;

/**
 * The newest rows below an id. However few of a million rows match, a page looks through so many ids at most, and then says where to
 * go on: it may be short, or empty, and not be the last.
 * @param bounds the lowest and the highest id there is
 */
export async function newestFirst<Row extends { id: number }>(
  bounds: { first: number | null; last: number | null },
  before: number | null,
  limit: number,
  read: (range: IdRange, limit: number) => Promise<Row[]>,
): Promise<PageOf<Row>> {
  const { first, last } = bounds;
  const rows: Row[] = [];
  if (first === null || last === null) return { rows, next: null };
  let below = Math.min(before ?? Number.POSITIVE_INFINITY, last + 1);
  for (let look = 0; look < mostLooks && below > first; look++) {
    const from = Math.max(first, below - idsAtATime);
    rows.push(...(await read({ from, below }, limit - rows.length)));
    const oldest = rows.at(-1);
    if (rows.length >= limit && oldest) return { rows, next: oldest.id > first ? oldest.id : null };
    below = from;
  }
  return { rows, next: below > first ? below : null };
}

export type EventPlace = Pick<StoredEvent, 'receivedAt' | 'id'>;
export type WebhookPage = Awaited<ReturnType<typeof browseWebhooks>>;

/** A page of the events, the newest first, and how the listener fares. */
export async function browseWebhooks(tx: Tx, after: EventPlace | null, limit: number) {
  const found = await listEvents(tx, limit + 1, after);
  const events = found.slice(0, limit);
  const next: EventPlace | null = found.length > limit ? (events.at(-1) ?? null) : null;
  return { events, next, status: await readWebhookStatus(tx) };
}
