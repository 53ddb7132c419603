import { placeholders, upsertRows } from '../store/rows.js';
import type { Tx } from '../store/store.js';

/** An order that waits for its lines, and since when it has looked as it does. */
export interface FirstSeen {
  firstSeenAt: number;
  contentHash: string;
  reason: string;
}

/** Those of the orders that waited before. */
export async function firstSeen(tx: Tx, sourceKeys: readonly string[]): Promise<Map<string, FirstSeen>> {
  if (sourceKeys.length === 0) return new Map();
  const found = await tx.select(
    `SELECT source_key, first_seen_at, content_hash, reason FROM unsettled WHERE source_key IN ${placeholders(sourceKeys.length)}`,
    sourceKeys,
  );
  return new Map(
    found.map((row) => [
      row.source_key,
      { firstSeenAt: Number(row.first_seen_at), contentHash: row.content_hash, reason: row.reason },
    ]),
  );
}

/** Notes who waits from now on, and who does not any more. */
export async function writeUnsettled(
  tx: Tx,
  waiting: readonly (FirstSeen & { sourceKey: string })[],
  settledKeys: readonly string[],
): Promise<void> {
  await upsertRows(
    tx,
    'unsettled',
    ['source_key'],
    waiting.map((one) => ({
      source_key: one.sourceKey,
      first_seen_at: one.firstSeenAt,
      content_hash: one.contentHash,
      reason: one.reason,
    })),
  );
  if (settledKeys.length > 0)
    await tx.run(`DELETE FROM unsettled WHERE source_key IN ${placeholders(settledKeys.length)}`, settledKeys);
}

/** Orders that wait, and of which nothing else is known. */
export async function unsettledStrangers(tx: Tx): Promise<string[]> {
  const rows = await tx.select<{ source_key: string }>(
    `SELECT u.source_key FROM unsettled u
      WHERE NOT EXISTS (SELECT 1 FROM outbox_message m WHERE m.source_key=u.source_key AND m.entity='order')
        AND NOT EXISTS (SELECT 1 FROM binding b WHERE b.source_key=u.source_key AND b.entity='order')`,
  );
  return rows.map((row) => row.source_key);
}
