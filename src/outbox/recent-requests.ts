import type { Tx } from '../store/store.js';

const pageSize = 2_000;

/**
 * When the requests left that a limit with a long window still counts, whichever process sent them. Intents, because an
 * attempt without an outcome may have been sent; read backwards along the primary key, since their times ascend with it.
 * @returns milliseconds since 1970, ascending
 */
export async function requestsSince(tx: Tx, sinceMs: number): Promise<number[]> {
  const times: number[] = [];
  for (let beforeId = Number.MAX_SAFE_INTEGER; ; ) {
    const rows = await tx.select<{ id: number | string; intended_at: number | string; verdict: string | null }>(
      `SELECT id, intended_at, verdict FROM attempt WHERE id<? ORDER BY id DESC LIMIT ${pageSize}`,
      [beforeId],
    );
    for (const row of rows)
      if (Number(row.intended_at) > sinceMs && row.verdict !== 'not_sent') times.push(Number(row.intended_at));
    const last = rows.at(-1);
    if (rows.length < pageSize || last === undefined || Number(last.intended_at) <= sinceMs)
      return times.sort((a, b) => a - b);
    beforeId = Number(last.id);
  }
}
