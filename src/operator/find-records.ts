import type { Entity } from '../model/record.js';
import type { Tx } from '../store/store.js';

export interface FoundRecord {
  entity: Entity;
  sourceKey: string;
  number: string | null;
}

/** `any`: the ERP's key or the number people know; only when neither is known, the service's id. */
export type FindBy = 'any' | 'key' | 'number';

/** How many matches are worth listing. */
const maxFound = 50;

/** The records of which something is known under this key. Several only when one record's number is another one's key. */
export async function findRecords(tx: Tx, entity: Entity, key: string, by: FindBy = 'any'): Promise<FoundRecord[]> {
  const found = new Map<string, FoundRecord>();
  const add = (rows: { source_key: string; number: string | null }[]) => {
    for (const row of rows) {
      const known = found.get(row.source_key);
      found.set(row.source_key, { entity, sourceKey: row.source_key, number: row.number ?? known?.number ?? null });
    }
  };
  if (by !== 'number') {
    add(
      await tx.select(
        'SELECT source_key, number FROM outbox_message WHERE entity=? AND source_key=? ORDER BY revision',
        [entity, key],
      ),
    );
    // Its messages may be pruned, or not written yet.
    add(
      await tx.select('SELECT source_key, NULL AS number FROM binding WHERE entity=? AND source_key=?', [entity, key]),
    );
    if (entity === 'order')
      add(await tx.select('SELECT source_key, NULL AS number FROM unsettled WHERE source_key=?', [key]));
  }
  if (by !== 'key')
    add(
      await tx.select(
        `SELECT DISTINCT source_key, number FROM outbox_message WHERE entity=? AND number=? ORDER BY source_key LIMIT ${maxFound}`,
        [entity, key],
      ),
    );
  // No index helps here, so it is the last thing that is tried.
  if (by === 'any' && found.size === 0)
    add(
      await tx.select(
        `SELECT b.source_key, (SELECT MAX(m.number) FROM outbox_message m WHERE m.entity=b.entity AND m.source_key=b.source_key) AS number
           FROM binding b WHERE b.entity=? AND b.service_id=? ORDER BY b.source_key LIMIT ${maxFound}`,
        [entity, key],
      ),
    );
  return [...found.values()];
}
