import type { Entity } from '../../model/record.js';
import { placeholders, upsertRows } from '../../store/rows.js';
import type { Tx } from '../../store/store.js';
import { deleteAdoptions } from './adoptions.js';

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

/** Which sweep counts what is missing. */
export interface CountingSweep {
  /** When it began. */
  startedAt: number;
  /** When the last one began that came to its end; null: none has, or somebody asked for another one since. */
  lastStartedAt: number | null;
}

/**
 * In how many sweeps in a row these keys were absent, this one included; those that were found start over. A sweep that broke
 * off is tried again within seconds, so that it does not count: only what the last whole one counted goes on from there.
 */
export async function countMissing(
  tx: Tx,
  entity: Entity,
  keys: readonly string[],
  missing: ReadonlySet<string>,
  { startedAt, lastStartedAt }: CountingSweep,
): Promise<Map<string, number>> {
  const found = keys.filter((key) => !missing.has(key));
  if (found.length > 0)
    await tx.run(
      `UPDATE binding SET missing_sweeps=0, missing_in_sweep_at=NULL WHERE entity=? AND missing_sweeps>0 AND source_key IN ${placeholders(found.length)}`,
      [entity, ...found],
    );
  if (missing.size === 0) return new Map();
  const absent = [...missing];
  await tx.run(
    `UPDATE binding SET missing_sweeps=CASE WHEN missing_in_sweep_at=? THEN missing_sweeps+1 ELSE 1 END, missing_in_sweep_at=?
      WHERE entity=? AND source_key IN ${placeholders(absent.length)}`,
    [lastStartedAt, startedAt, entity, ...absent],
  );
  const rows = await tx.select<{ source_key: string; missing_sweeps: number }>(
    `SELECT source_key, missing_sweeps FROM binding WHERE entity=? AND source_key IN ${placeholders(absent.length)}`,
    [entity, ...absent],
  );
  return new Map(rows.map((row) => [row.source_key, Number(row.missing_sweeps)]));
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

/** Closes unsent creates of records that are cancelled. */
export async function withdrawMessages(tx: Tx, ids: readonly number[], reason: string, nowMs: number): Promise<void> {
  if (ids.length === 0) return;
  await tx.run(
    `UPDATE outbox_message SET state='superseded', reason=?, closed_at=?
      WHERE id IN ${placeholders(ids.length)} AND ((state='pending' AND first_sent_at IS NULL) OR state='parked')`,
    [reason, nowMs, ...ids],
  );
}

/** The service has these records no more: their bindings are closed, and a row that comes back is a new create. */
export async function closeBindings(
  tx: Tx,
  removed: readonly { entity: Entity; sourceKey: string; revision: number; generation: number }[],
  nowMs: number,
): Promise<void> {
  for (const entity of ['customer', 'order'] as const) {
    const ofEntity = removed.filter((one) => one.entity === entity);
    if (ofEntity.length === 0) continue;
    const keys = ofEntity.map((one) => one.sourceKey);
    const rows = await tx.select<{ source_key: string; service_id: string }>(
      `SELECT source_key, service_id FROM binding WHERE entity=? AND source_key IN ${placeholders(keys.length)}`,
      [entity, ...keys],
    );
    const ids = new Map(rows.map((row) => [row.source_key, row.service_id]));
    await upsertRows(
      tx,
      'closed_binding',
      ['entity', 'source_key'],
      ofEntity.map((one) => ({
        entity,
        source_key: one.sourceKey,
        service_id: ids.get(one.sourceKey) ?? '',
        revision: one.revision,
        generation: one.generation,
        closed_at: nowMs,
      })),
    );
    await tx.run(`DELETE FROM binding WHERE entity=? AND source_key IN ${placeholders(keys.length)}`, [
      entity,
      ...keys,
    ]);
    await deleteAdoptions(tx, entity, keys);
  }
}
