import type { Entity } from '../model/entity.js';
import type { Tx } from '../store/store.js';

/**
 * After a takeover: what an older epoch was sending may have been sent. A conflict was only looked up, and stays one.
 * @returns the messages that are in doubt now
 */
export async function doubtOlderEpochs(
  tx: Tx,
  epoch: number,
  nowMs: number,
): Promise<{ id: number; entity: Entity; sourceKey: string }[]> {
  await tx.run(
    "UPDATE outbox_message SET state='parked' WHERE state='sending' AND claim_epoch<? AND claimed_from='parked'",
    [epoch],
  );
  const rows = await tx.select(
    "SELECT id, entity, source_key FROM outbox_message WHERE state='sending' AND claim_epoch<?",
    [epoch],
  );
  if (rows.length > 0) {
    await tx.run(
      `UPDATE outbox_message
          SET state='in_doubt', next_attempt_at=?, first_sent_at=COALESCE(first_sent_at,
                (SELECT a.intended_at FROM attempt a WHERE a.message_id=outbox_message.id AND a.number=outbox_message.attempts)),
              reason='The process that was sending it stopped without an outcome.'
        WHERE state='sending' AND claim_epoch<?`,
      [nowMs, epoch],
    );
  }
  await tx.run(
    "UPDATE attempt SET verdict='unknown', reason='May have been sent: the process stopped before the outcome was on record.' WHERE verdict IS NULL AND epoch<?",
    [epoch],
  );
  return rows.map((row) => ({ id: Number(row.id), entity: row.entity, sourceKey: row.source_key }));
}
