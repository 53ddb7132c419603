import { deliveredSince } from '../../outbound/deliver/clock-trace.js';
import type { Tx } from '../../store/store.js';
import { spanEndsS } from './series.js';

/** Up to where the figures have counted: the last attempt, and the last line of the audit, which tells of deliveries. */
export interface Counted {
  attemptId: number;
  lineId: number;
}

/** A line may be committed behind a later one, by a node whose clock is another one; after so long each is. */
const committedAfterMs = 15_000;

/** The lines on record now, up to the first read or look-up that is under way, and the first line that is too young. */
export async function onRecord(tx: Tx, nowMs: number, after: Counted = { attemptId: 0, lineId: 0 }): Promise<Counted> {
  const first = async (sql: string, ...parameters: number[]) => Number((await tx.value<number>(sql, parameters)) ?? 0);
  const open = await first('SELECT MIN(id) FROM attempt WHERE verdict IS NULL AND id>?', after.attemptId);
  const isYoung = 'at>? AND at<=? AND id>?';
  const [from, to] = [nowMs - committedAfterMs, nowMs + committedAfterMs];
  const young = await first(`SELECT MIN(id) FROM audit_log WHERE ${isYoung}`, from, to, after.lineId);
  return {
    attemptId: open > 0 ? open - 1 : await first('SELECT MAX(id) FROM attempt'),
    lineId: young > 0 ? young - 1 : await first('SELECT MAX(id) FROM audit_log'),
  };
}

/** The messages of one minute that came to their end, and took equally long from capture to acknowledgement. */
export interface EndedFigure {
  /** When the minute begins. */
  at: number;
  delivered: number;
  notDelivered: number;
  requests: number;
  /** The place of their span among `spanEndsS`; null: nothing was acknowledged. */
  spanNth: number | null;
}

/** The messages that ended in between, counted by minute and by span. Look-ups and reads are requests alone. */
export async function endedBetween(tx: Tx, after: Counted, upTo: Counted): Promise<EndedFigure[]> {
  const undelivered = await tx.rows<{ at: number; notDelivered: number; requests: number }>(
    `SELECT ended_at - ended_at % 60000 AS at, SUM(is_write) AS not_delivered, SUM(requests) AS requests FROM
       (SELECT COALESCE(started_at + COALESCE(duration_ms,0), intended_at) AS ended_at, COALESCE(requests,0) AS requests,
               CASE WHEN message_id IS NULL OR purpose='look_up' THEN 0 ELSE 1 END AS is_write
          FROM attempt WHERE id>? AND id<=?) AS t
      GROUP BY ended_at - ended_at % 60000`,
    [after.attemptId, upTo.attemptId],
  );
  const span = spanEndsS.map((end, nth) => `WHEN span<=${end * 1_000} THEN ${nth}`).join(' ');
  const delivered = await tx.rows<{ at: number; delivered: number; requests: number; spanNth: number }>(
    `SELECT ended_at - ended_at % 60000 AS at, span_nth, COUNT(*) AS delivered, SUM(requests) AS requests FROM
       (SELECT ended_at, requests, CASE ${span} ELSE ${spanEndsS.length} END AS span_nth FROM
         (SELECT m.closed_at AS ended_at, m.requests, m.closed_at - m.captured_at AS span
            FROM audit_log l JOIN outbox_message m ON m.id=l.message_id
           WHERE l.event='delivered' AND l.id>? AND l.id<=? AND m.started_at IS NOT NULL) AS t) AS u
      GROUP BY ended_at - ended_at % 60000, span_nth`,
    [after.lineId, upTo.lineId],
  );
  return [
    ...undelivered.map(({ at, notDelivered, requests }) => ({
      ...{ at: Number(at), delivered: 0, notDelivered: Number(notDelivered), requests: Number(requests) },
      spanNth: null,
    })),
    ...delivered.map((one) => ({ ...one, at: Number(one.at), requests: Number(one.requests), notDelivered: 0 })),
  ];
}

/** Requests of the last minute, of at most as many as the newest `most` attempts hold, and all deliveries. */
export async function countLastMinute(tx: Tx, nowMs: number, most: number): Promise<number> {
  const limit = Math.trunc(most);
  const since = nowMs - 60_000;
  const attempts = `SELECT COUNT(*) FROM (SELECT started_at FROM attempt ORDER BY id DESC LIMIT ${limit}) AS t WHERE started_at>?`;
  const [delivered, parameters] = await deliveredSince(tx, since);
  const deliveries = await tx.value<number | null>(`SELECT SUM(m.requests) ${delivered}`, parameters);
  return Number((await tx.value<number>(attempts, [since])) ?? 0) + Number(deliveries ?? 0);
}
