import { placeholders, upsertRows } from '../../store/rows.js';
import type { Tx } from '../../store/store.js';

export interface OrderReadinessInput {
  /** Both in minor units as decimal text; null when the mapping names no total column. */
  totals: { lines: string; header: string } | null;
  /** Seconds since the row changed, by the ERP's clock; null when unknown. */
  ageSeconds: number | null;
  /** Seconds since we first saw it in this form; 0 when just now. */
  seenSeconds: number;
  settleSeconds: number;
}

type OrderReadiness =
  | { ready: true }
  | { ready: false; wait: true; reason: string }
  | { ready: false; wait: false; reason: string };

/**
 * Whether an order's lines are all there. Some ERPs save header and lines apart, so that a reader
 * sees two lines of five. Lines that add up to the header's total are proof; without a total only
 * time helps; and when time did not help, a person must.
 */
export function orderReadiness(input: OrderReadinessInput): OrderReadiness {
  const { totals, ageSeconds, seenSeconds, settleSeconds } = input;
  if (totals && totals.lines === totals.header) return { ready: true };
  const settled = seenSeconds >= settleSeconds || (ageSeconds !== null && ageSeconds >= settleSeconds);
  if (!totals) {
    if (settled) return { ready: true };
    return { ready: false, wait: true, reason: `changed just now; waits ${settleSeconds} s for its lines` };
  }
  const reason = `the lines add up to ${totals.lines}, the order says ${totals.header}`;
  return { ready: false, wait: !settled, reason };
}

/** An order that waits for its lines, and since when it has looked as it does. */
export interface FirstSeen {
  firstSeenAt: number;
  contentHash: string;
  reason: string;
}

/** Those of the orders that waited before. */
export async function firstSeen(tx: Tx, sourceKeys: readonly string[]): Promise<Map<string, FirstSeen>> {
  if (sourceKeys.length === 0) return new Map();
  const found = await tx.rows<FirstSeen & { sourceKey: string }>(
    `SELECT source_key, first_seen_at, content_hash, reason FROM unsettled WHERE source_key IN ${placeholders(sourceKeys.length)}`,
    sourceKeys,
  );
  return new Map(found.map((row) => [row.sourceKey, row]));
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

/** Keys of waiting orders that have neither a message nor a binding. */
export async function unsettledStrangers(tx: Tx): Promise<string[]> {
  const rows = await tx.rows<{ sourceKey: string }>(
    `SELECT u.source_key FROM unsettled u
      WHERE NOT EXISTS (SELECT 1 FROM outbox_message m WHERE m.source_key=u.source_key AND m.entity='order')
        AND NOT EXISTS (SELECT 1 FROM binding b WHERE b.source_key=u.source_key AND b.entity='order')`,
  );
  return rows.map((row) => row.sourceKey);
}
