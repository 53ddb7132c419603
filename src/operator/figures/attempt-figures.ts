import type { Tx } from '../../store/store.js';
import { spanEndsS } from './series.js';

/** Upper ends of the histogram of answers, in milliseconds. */
export const latencyBucketsMs = [10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000] as const;

/** Attempts that share a verdict and a bucket. */
export interface AttemptFigure {
  verdict: string;
  purpose: string;
  count: number;
  /** How many of them have a duration, and its mean in milliseconds; null: none has. */
  meanMs: number | null;
}

/** How many attempts are counted at a time: a second of SQLite at most, at a tenth of a microsecond a row far less. */
const mostAtOnce = 20_000;

/** The last attempt that is on record now. */
export async function lastAttemptId(tx: Tx): Promise<number> {
  return (await tx.value<number>('SELECT MAX(id) FROM attempt')) ?? 0;
}

/**
 * Attempts after `afterId` that have an outcome, up to the first that has none yet: so each is counted once, whoever sent it.
 * @returns `upTo`, after which the next call goes on
 */
export async function countAttempts(tx: Tx, afterId: number): Promise<{ upTo: number; figures: AttemptFigure[] }> {
  const { upTo } = await endedUpTo(tx, afterId, mostAtOnce);
  const bucket = latencyBucketsMs.map((most, nth) => `WHEN duration_ms<=${most} THEN ${nth}`).join(' ');
  const figures = await tx.rows<AttemptFigure>(
    `SELECT verdict, purpose, COUNT(*) AS count, AVG(duration_ms) AS mean_ms FROM
       (SELECT verdict, purpose, duration_ms, CASE WHEN duration_ms IS NULL THEN -1 ${bucket} ELSE 99 END AS bucket
          FROM attempt WHERE id>? AND id<=?) AS t
      GROUP BY verdict, purpose, bucket`,
    [afterId, upTo],
  );
  return { upTo, figures: figures.map((one) => ({ ...one, meanMs: one.meanMs === null ? null : Number(one.meanMs) })) };
}

async function endedUpTo(tx: Tx, afterId: number, most: number): Promise<{ upTo: number; hasMore: boolean }> {
  const open =
    (await tx.value<number>('SELECT MIN(id) FROM attempt WHERE verdict IS NULL AND id>?', [afterId])) ?? null;
  const last = open === null ? await lastAttemptId(tx) : open - 1;
  const upTo = Math.max(afterId, Math.min(last, afterId + most));
  return { upTo, hasMore: upTo < last };
}

/** Attempts of one minute that took equally long from capture to acknowledgement. */
interface EndedFigure {
  /** When the minute begins. */
  at: number;
  delivered: number;
  notDelivered: number;
  requests: number;
  /** Where their span stands among `spanEndsS`; null: nothing was acknowledged. */
  spanNth: number | null;
}

/** The next attempts that have an outcome, counted by minute and by span. Look-ups and reads are requests alone. */
export async function endedAttempts(
  tx: Tx,
  afterId: number,
  most: number,
): Promise<{ upTo: number; hasMore: boolean; figures: EndedFigure[] }> {
  const { upTo, hasMore } = await endedUpTo(tx, afterId, most);
  if (upTo === afterId) return { upTo, hasMore, figures: [] };
  const span = spanEndsS.map((end, nth) => `WHEN span<=${end * 1_000} THEN ${nth}`).join(' ');
  const rows = await tx.rows<{ at: number; outcome: number; spanNth: number; count: number; requests: number }>(
    `SELECT ended_at - ended_at % 60000 AS at, outcome, span_nth, COUNT(*) AS count, SUM(requests) AS requests FROM
       (SELECT ended_at, outcome, requests, CASE WHEN outcome<>1 THEN -1 ${span} ELSE ${spanEndsS.length} END AS span_nth FROM
         (SELECT COALESCE(a.started_at + COALESCE(a.duration_ms,0), a.intended_at) AS ended_at, COALESCE(a.requests,0) AS requests,
                 CASE WHEN a.message_id IS NULL OR a.purpose='look_up' THEN 0 WHEN a.verdict='delivered' THEN 1 ELSE 2 END AS outcome,
                 COALESCE(m.closed_at - m.captured_at,0) AS span
            FROM attempt a LEFT JOIN outbox_message m ON m.id=a.message_id WHERE a.id>? AND a.id<=?) AS t) AS u
      GROUP BY ended_at - ended_at % 60000, outcome, span_nth`,
    [afterId, upTo],
  );
  return {
    upTo,
    hasMore,
    figures: rows.map(({ at, outcome, spanNth, count, requests }) => ({
      at: Number(at),
      delivered: outcome === 1 ? count : 0,
      notDelivered: outcome === 2 ? count : 0,
      requests: Number(requests),
      spanNth: outcome === 1 ? spanNth : null,
    })),
  };
}

/** Requests of the last minute, of at most as many as the newest `most` attempts hold. */
export async function countLastMinute(tx: Tx, nowMs: number, most: number): Promise<number> {
  const sql = `SELECT COUNT(*) FROM (SELECT started_at FROM attempt ORDER BY id DESC LIMIT ${Math.trunc(most)}) AS t WHERE started_at>?`;
  return (await tx.value<number>(sql, [nowMs - 60_000])) ?? 0;
}
