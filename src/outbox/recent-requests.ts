import type { Tx } from '../store/store.js';

const pageSize = 2_000;

interface AttemptTimes {
  id: number | string;
  intended_at: number | string;
  started_at: number | string | null;
  duration_ms: number | string | null;
  verdict: string | null;
}

/**
 * By when the requests were answered that a limit with a long window still counts, whichever process sent them and for whatever
 * purpose. Intents, because an attempt without an outcome may have been sent; read backwards along the primary key, since
 * intents ascend with it.
 * @param waitMs how long after its intent a request leaves at the latest
 * @param deadlineMs how long after that it is answered at the latest
 * @returns milliseconds since 1970, ascending; none before `sinceMs`
 */
export async function answeredSince(tx: Tx, sinceMs: number, waitMs: number, deadlineMs: number): Promise<number[]> {
  const times: number[] = [];
  for (let beforeId = Number.MAX_SAFE_INTEGER; ; ) {
    const rows = await tx.select<AttemptTimes>(
      `SELECT id, intended_at, started_at, duration_ms, verdict FROM attempt WHERE id<? ORDER BY id DESC LIMIT ${pageSize}`,
      [beforeId],
    );
    for (const row of rows) {
      if (row.verdict === 'not_sent') continue;
      const sentBy = row.started_at === null ? Number(row.intended_at) + waitMs : Number(row.started_at);
      const answeredBy = sentBy + (row.duration_ms === null ? deadlineMs : Number(row.duration_ms));
      if (answeredBy > sinceMs) times.push(answeredBy);
    }
    const last = rows.at(-1);
    if (rows.length < pageSize || last === undefined || Number(last.intended_at) <= sinceMs - waitMs - deadlineMs)
      return times.sort((a, b) => a - b);
    beforeId = Number(last.id);
  }
}
