import type { Entity } from '../model/entity.js';
import { placeholders } from '../store/rows.js';
import type { Tx } from '../store/store.js';
import type { Operation } from './message.js';

/** Whether the last request of this kind that was answered by success or 403 was a success. Read backwards along the primary key. */
export async function passedSinceForbidden(tx: Tx, entity: Entity, operation: Operation): Promise<boolean> {
  const [last] = await tx.select<{ verdict: string }>(
    `SELECT a.verdict FROM attempt a JOIN outbox_message m ON m.id=a.message_id
      WHERE a.purpose=? AND m.entity=? AND (a.verdict='delivered' OR (a.verdict='misconfigured' AND a.status=403))
      ORDER BY a.id DESC LIMIT 1`,
    [operation, entity],
  );
  return last?.verdict === 'delivered';
}

/** Those of these messages of which an earlier request was answered 403. */
export async function forbiddenBefore(tx: Tx, messageIds: readonly number[]): Promise<Set<number>> {
  if (messageIds.length === 0) return new Set();
  const rows = await tx.select<{ message_id: number }>(
    `SELECT DISTINCT message_id FROM attempt
      WHERE verdict='misconfigured' AND status=403 AND message_id IN ${placeholders(messageIds.length)}`,
    [...messageIds],
  );
  return new Set(rows.map((row) => Number(row.message_id)));
}
