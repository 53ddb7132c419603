import type { Tx } from '../store/store.js';

/** Since when pulls come to their end without a proof: the end of the last proven one, or the first of all; null: the last of them was proven. */
export async function unprovenSince(tx: Tx): Promise<number | null> {
  const [last] = await tx.select<{ id: number; ended_at: number }>(
    "SELECT id, ended_at FROM invoice_pull WHERE outcome='proven' ORDER BY id DESC LIMIT 1",
  );
  const [first] = await tx.select<{ started_at: number | null }>(
    "SELECT MIN(started_at) AS started_at FROM invoice_pull WHERE outcome='unproven' AND id>?",
    [last?.id ?? 0],
  );
  const since = first?.started_at ?? null;
  return since === null ? null : Number(last?.ended_at ?? since);
}
