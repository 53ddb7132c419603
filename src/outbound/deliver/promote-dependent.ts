import { isDeepStrictEqual } from 'node:util';
import type { Entity, JsonValue } from '../../model/record.js';
import type { Tx } from '../../store/store.js';
import { createKey } from '../outbox/idempotency-key.js';
import { supersedeUnsent } from '../outbox/transitions.js';

/**
 * A create was refused with proof while a newer revision was waiting behind it as an update: that one becomes the create,
 * also when it waits for a person (held, or not mappable): as an update it would wait for ever for the record.
 * Not when the record is bound: then the refused one was a repetition, and the update finds its record at the service.
 * @param removals fields that say at the service that a record was removed; what carries them needs no create
 * @returns the id of the promoted message, or null
 */
export async function promoteDependent(
  tx: Tx,
  refused: { id: number; entity: Entity; sourceKey: string; revision: number; generation: number },
  installation: string,
  replaysRefusals: boolean,
  nowMs: number,
  removals: readonly { [field: string]: JsonValue }[] = [],
): Promise<number | null> {
  const [next] = await tx.rows<{ id: number; operation: string; parkClass: string | null; record: string | null }>(
    `SELECT id, operation, park_class, (SELECT b.record FROM message_body b WHERE b.message_id=outbox_message.id) AS record
       FROM outbox_message
      WHERE entity=? AND source_key=? AND revision>? AND operation IN ('update','delete') AND first_sent_at IS NULL
        AND (state='pending' OR (state='parked' AND park_class IN ('held','unmapped')))
        AND NOT EXISTS (SELECT 1 FROM binding b WHERE b.entity=? AND b.source_key=?)
      ORDER BY revision DESC LIMIT 1`,
    [refused.entity, refused.sourceKey, refused.revision, refused.entity, refused.sourceKey],
  );
  if (!next) return null;
  // Nothing was made, so that nothing has to be removed.
  if (next.operation === 'delete' || removals.some((patch) => carries(next.record, patch))) {
    await supersedeUnsent(tx, [refused.id, next.id], null, nowMs);
    return next.id;
  }
  const generation = refused.generation + (replaysRefusals ? 1 : 0);
  if (next.parkClass === 'unmapped')
    await tx.run("UPDATE outbox_message SET operation='create', generation=? WHERE id=?", [generation, next.id]);
  else
    await tx.run(
      `UPDATE outbox_message SET operation='create', generation=?, idempotency_key=?, body_hash=content_hash, next_attempt_at=? WHERE id=?`,
      [generation, createKey(installation, refused.entity, refused.sourceKey, generation), nowMs, next.id],
    );
  await supersedeUnsent(tx, [refused.id], null, nowMs);
  return next.id;
}

function carries(record: string | null, patch: { [field: string]: JsonValue }): boolean {
  const fields = JSON.parse(record ?? '{}') as { [field: string]: JsonValue };
  const said = Object.entries(patch);
  // Fields that say nothing are carried by every record.
  return said.length > 0 && said.every(([name, value]) => isDeepStrictEqual(fields[name], value));
}
