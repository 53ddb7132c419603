import type { Entity } from '../model/entity.js';
import { placeholders } from '../store/rows.js';
import type { Tx } from '../store/store.js';

/**
 * Whatever is past the key's lifetime at the service is never resent blindly: it is parked for a person.
 * @param except entities that are looked up instead
 */
export async function parkForgottenKeys(
  tx: Tx,
  sentBeforeMs: number,
  except: readonly Entity[] = [],
): Promise<{ id: number; entity: Entity; sourceKey: string }[]> {
  const found = await tx.select(
    "SELECT id, entity, source_key FROM outbox_message WHERE state='in_doubt' AND operation='create' AND first_sent_at<?",
    [sentBeforeMs],
  );
  const rows = found.filter((row) => !except.includes(row.entity));
  const ids = rows.map((row) => Number(row.id));
  if (ids.length > 0)
    await tx.run(
      `UPDATE outbox_message SET state='parked', park_class='unproven',
              reason='The service may have forgotten the key since the first try, so a resend could make a second record. Look at the service, then use outbox resolve.'
        WHERE id IN ${placeholders(ids.length)} AND state='in_doubt'`,
      ids,
    );
  return rows.map((row) => ({ id: Number(row.id), entity: row.entity, sourceKey: row.source_key }));
}
