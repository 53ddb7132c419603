import type { Entity } from '../model/entity.js';
import { placeholders, type Row, updateRows, upsertRows } from '../store/rows.js';
import type { Tx } from '../store/store.js';
import { holdOpenAdoptions } from './adoptions.js';

/** A binding with every column it has, as it is exported and imported. */
export interface BindingRow extends Row {
  entity: string;
  source_key: string;
  service_id: string;
  revision: number;
  generation: number;
  content_hash: string;
}

/** Bindings of an entity in the order of their keys, after `afterKey`. */
export async function bindingsAfter(tx: Tx, entity: Entity, afterKey: string, limit: number): Promise<BindingRow[]> {
  return tx.select<BindingRow>(
    `SELECT * FROM binding WHERE entity=? AND source_key>? ORDER BY source_key LIMIT ${Math.trunc(limit)}`,
    [entity, afterKey],
  );
}

export interface ImportedBindings {
  imported: number;
  /** The store knew the record better already. */
  older: number;
  /** Creates that wait no more: the service holds these values already. */
  closed: number;
  /** Creates that became updates, because the row has changed since. */
  changed: number;
}

/**
 * Takes over bindings that were exported. What was captured meanwhile as new is new no more: a create with the same
 * content is closed, one with another content becomes an update. Only creates that were never sent are touched.
 */
export async function importBindings(tx: Tx, rows: readonly BindingRow[], nowMs: number): Promise<ImportedBindings> {
  const result: ImportedBindings = { imported: 0, older: 0, closed: 0, changed: 0 };
  for (const entity of ['customer', 'order'] as const) {
    const given = rows.filter((row) => row.entity === entity);
    if (given.length === 0) continue;
    const keys = given.map((row) => row.source_key);
    const known = await tx.select<{ source_key: string; revision: number }>(
      `SELECT source_key, revision FROM binding WHERE entity=? AND source_key IN ${placeholders(keys.length)}`,
      [entity, ...keys],
    );
    const revisions = new Map(known.map((row) => [row.source_key, Number(row.revision)]));
    const newer = given.filter((row) => row.revision > (revisions.get(row.source_key) ?? -1));
    result.imported += newer.length;
    result.older += given.length - newer.length;
    await upsertRows(tx, 'binding', ['entity', 'source_key'], newer);
    await turnCreates(tx, entity, newer, nowMs, result);
  }
  return result;
}

async function turnCreates(
  tx: Tx,
  entity: Entity,
  bindings: readonly BindingRow[],
  nowMs: number,
  result: ImportedBindings,
): Promise<void> {
  if (bindings.length === 0) return;
  const byKey = new Map(bindings.map((row) => [row.source_key, row]));
  const messages = await tx.select(
    `SELECT id, source_key, revision, content_hash FROM outbox_message
      WHERE entity=? AND source_key IN ${placeholders(byKey.size)}
        AND operation='create' AND state='pending' AND first_sent_at IS NULL`,
    [entity, ...byKey.keys()],
  );
  const closed = messages.filter((row) => byKey.get(row.source_key)?.content_hash === row.content_hash);
  const changed = messages.filter((row) => !closed.includes(row));
  result.closed += closed.length;
  result.changed += changed.length;
  await updateRows(
    tx,
    'outbox_message',
    ['id'],
    closed.map((row) => ({
      id: Number(row.id),
      state: 'superseded',
      reason: 'The service holds these values already: its binding was imported.',
      closed_at: nowMs,
    })),
  );
  await updateRows(
    tx,
    'outbox_message',
    ['id'],
    changed.map((row) => {
      const binding = byKey.get(row.source_key) as BindingRow;
      return {
        id: Number(row.id),
        operation: 'update',
        generation: binding.generation,
        revision: Math.max(row.revision, binding.revision + 1),
        idempotency_key: null,
        body_hash: null,
      };
    }),
  );
  await holdOpenAdoptions(
    tx,
    changed.map((row) => Number(row.id)),
  );
}
