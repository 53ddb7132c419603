import type { Fact } from '../../model/facts/fact.js';
import { type Entity, pluralOf } from '../../model/record.js';
import { factColumns, factOf } from '../../store/fact-columns.js';
import { placeholders, renameKeys, updateRows } from '../../store/rows.js';
import type { Tx } from '../../store/store.js';
import { renameBindings } from '../outbox/bindings.js';

/** A record that the store knows. */
export interface KnownKey {
  sourceKey: string;
  /** The columns that never change, as JSON; null when they are not known. */
  identity: string | null;
  /** Its id at the service; null: it has no binding. */
  serviceId: string | null;
  generation: number;
}

/** Every record of an entity that the store knows, whatever has become of it, each once. */
export async function readKnownKeys(tx: Tx, entity: Entity): Promise<KnownKey[]> {
  const rows = await tx.rows<KnownKey>(
    `SELECT m.source_key, m.identity, NULL AS service_id, m.generation FROM outbox_message m
       JOIN (SELECT source_key, MAX(revision) AS revision FROM outbox_message WHERE entity=? GROUP BY source_key) n
         ON n.source_key=m.source_key AND n.revision=m.revision WHERE m.entity=?
     UNION ALL SELECT source_key, identity, service_id, generation FROM binding WHERE entity=?`,
    [entity, entity, entity],
  );
  const known = new Map<string, KnownKey>();
  for (const row of rows) {
    const { identity = null, generation = 0 } = known.get(row.sourceKey) ?? {};
    known.set(row.sourceKey, {
      ...row,
      identity: row.identity ?? identity,
      generation: Math.max(row.generation, generation),
    });
  }
  return [...known.values()];
}

/** The same records under other keys, wherever a row names them. The audit log stays as it was written. */
export async function renameRecords(tx: Tx, entity: Entity, renames: ReadonlyMap<string, string>): Promise<void> {
  await renameBindings(tx, entity, renames);
  await renameKeys(tx, 'adoption', 'source_key', entity, renames);
  await renameKeys(tx, 'outbox_message', 'source_key', entity, renames);
  if (entity === 'customer') await renameKeys(tx, 'outbox_message', 'customer_key', 'order', renames);
}

/** Makes capture, and what is written back, begin anew: marks, cursors and rows of other keys mean nothing any more. */
export async function restartCapture(tx: Tx, entity: Entity): Promise<void> {
  await tx.run('DELETE FROM capture_cursor WHERE name=?', [entity]);
  if (entity === 'order') {
    await tx.run('DELETE FROM unsettled');
    await tx.run('DELETE FROM left_order');
  }
  await tx.run('DELETE FROM replaced_record WHERE entity=?', [entity]);
  await tx.run('DELETE FROM write_back_row WHERE kind=?', [`${entity}s`]);
}

/** The same of single records. */
export async function restartRecords(tx: Tx, entity: Entity, keys: readonly string[]): Promise<void> {
  const listed = placeholders(keys.length);
  if (entity === 'order') {
    await tx.run(`DELETE FROM unsettled WHERE source_key IN ${listed}`, [...keys]);
    await tx.run(`DELETE FROM left_order WHERE source_key IN ${listed}`, [...keys]);
  }
  const kind = pluralOf(entity);
  await tx.run(`DELETE FROM write_back_row WHERE kind=? AND record_key IN ${listed}`, [kind, ...keys]);
}

/** Rows that one statement reads, so that a million reasons need no memory. */
const batchSize = 1_000;

/** A reason that names a record of this entity means its key of before, and a sentence of an earlier version may name one. */
export async function dateReasons(tx: Tx, entity: Entity): Promise<void> {
  for (let after = 0, batch = batchSize; batch === batchSize; ) {
    const rows = await tx.rows<{ id: number; reasonCode: string; reasonData: string }>(
      `SELECT id, reason_code, reason_data FROM outbox_message
        WHERE id>? AND reason_code IS NOT NULL AND reason_code<>'before_keys_changed' ORDER BY id LIMIT ${batchSize}`,
      [after],
    );
    const dated = rows.flatMap(({ id, reasonCode, reasonData }) => {
      const reason = factOf(reasonCode, reasonData);
      if (reason === null || !mayName(reason, entity)) return [];
      return [{ id, data: factColumns({ code: 'before_keys_changed', reason }).data }];
    });
    await updateRows(
      tx,
      'outbox_message',
      ['id'],
      dated.map(({ id, data }) => ({ id, reason_code: 'before_keys_changed', reason_data: data })),
    );
    batch = rows.length;
    after = rows.at(-1)?.id ?? after;
  }
}

function mayName(reason: Fact, entity: Entity): boolean {
  return reason.code === 'legacy' || ('sourceKey' in reason && 'entity' in reason && reason.entity === entity);
}
