import type { Entity } from '../model/entity.js';
import { placeholders } from '../store/rows.js';
import type { Tx } from '../store/store.js';

/** The newest revision of each record that a message tells of. */
export async function newestRevisions(tx: Tx, entity: Entity, keys: readonly string[]): Promise<Map<string, number>> {
  const rows = await tx.select<{ source_key: string; revision: number }>(
    `SELECT source_key, MAX(revision) AS revision FROM outbox_message
      WHERE entity=? AND source_key IN ${placeholders(keys.length)} GROUP BY source_key`,
    [entity, ...keys],
  );
  return new Map(rows.map((row) => [row.source_key, row.revision]));
}
