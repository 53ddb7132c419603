import type { Entity } from '../../model/record.js';
import { placeholders } from '../../store/rows.js';
import type { Tx } from '../../store/store.js';

/** Keys of the records that the service has, in the order of the keys, after `afterKey`. */
export async function boundKeys(tx: Tx, entity: Entity, afterKey: string, limit: number): Promise<string[]> {
  const rows = await tx.select<{ source_key: string }>(
    `SELECT source_key FROM binding WHERE entity=? AND source_key>? ORDER BY source_key LIMIT ${Math.trunc(limit)}`,
    [entity, afterKey],
  );
  return rows.map((row) => row.source_key);
}

/** Keys of the records whose create has not come to an end, after `afterId`. */
export async function openCreates(
  tx: Tx,
  entity: Entity,
  afterId: number,
  limit: number,
): Promise<{ id: number; sourceKey: string }[]> {
  const rows = await tx.select<{ id: number; source_key: string }>(
    `SELECT id, source_key FROM outbox_message
      WHERE entity=? AND state IN ('pending','sending','in_doubt','parked') AND operation='create' AND id>? ORDER BY id LIMIT ${Math.trunc(limit)}`,
    [entity, afterId],
  );
  return rows.map((row) => ({ id: Number(row.id), sourceKey: row.source_key }));
}

/**
 * The record as it was last wanted: of the newest message, unless that gave way to what the service has; else what the service
 * acknowledged; and where nobody knows what the service holds of it, of the newest message all the same.
 */
export async function lastRecords(
  tx: Tx,
  entity: Entity,
  newest: ReadonlyMap<string, number | null>,
): Promise<Map<string, string>> {
  const records = new Map<string, string>();
  const keys = [...newest.keys()];
  if (keys.length === 0) return records;
  const bound = await tx.select(
    `SELECT source_key, acknowledged FROM binding WHERE entity=? AND acknowledged IS NOT NULL AND source_key IN ${placeholders(keys.length)}`,
    [entity, ...keys],
  );
  for (const row of bound) records.set(row.source_key, row.acknowledged);
  const ids = [...newest.values()].filter((id) => id !== null);
  if (ids.length === 0) return records;
  const wanted = await tx.select(
    `SELECT m.source_key, m.state, b.record FROM outbox_message m JOIN message_body b ON b.message_id=m.id
      WHERE m.id IN ${placeholders(ids.length)} AND m.operation<>'delete'`,
    ids,
  );
  for (const row of wanted)
    if (row.state !== 'superseded' || !records.has(row.source_key)) records.set(row.source_key, row.record);
  return records;
}
