import type { Entity } from '../model/entity.js';
import { placeholders, type Row, updateRows, upsertRows } from '../store/rows.js';
import type { Tx } from '../store/store.js';
import { closeProven } from './close-proven.js';
import { newestRevisions } from './newest-revisions.js';

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
  /** Creates and removals that wait no more, because the record is there: capture compares its row with the binding. */
  closed: number;
}

const reason = 'The service has it already: its binding was imported.';

/** Takes over bindings that were exported. What was captured meanwhile as new, and never sent, is new no more. */
export async function importBindings(tx: Tx, rows: readonly BindingRow[], nowMs: number): Promise<ImportedBindings> {
  const result: ImportedBindings = { imported: 0, older: 0, closed: 0 };
  for (const entity of ['customer', 'order'] as const) {
    const given = rows.filter((row) => row.entity === entity);
    if (given.length === 0) continue;
    const keys = given.map((row) => row.source_key);
    // What was removed since comes not back by an older export.
    const revisions = await knownRevisions(tx, entity, keys);
    const newer = given.filter((row) => row.revision > (revisions.get(row.source_key) ?? -1));
    result.imported += newer.length;
    result.older += given.length - newer.length;
    if (newer.length === 0) continue;
    await upsertRows(tx, 'binding', ['entity', 'source_key'], newer);
    result.closed += await closeProven(tx, entity, newer, { isBound: true, reason }, nowMs);
    await moveBehind(tx, entity, newer);
  }
  return result;
}

/**
 * What a copy had waiting, and what goes on, is said of the record that is there by now, and after all that the export tells of:
 * else its acknowledgement would take the binding back, and the next export would count as older than this one.
 */
async function moveBehind(tx: Tx, entity: Entity, bindings: readonly BindingRow[]): Promise<void> {
  const bound = new Map(bindings.map((row) => [row.source_key, row]));
  const reached = await newestRevisions(tx, entity, [...bound.keys()]);
  const open = await tx.select<{ id: number; source_key: string; revision: number }>(
    `SELECT id, source_key, revision FROM outbox_message
      WHERE entity=? AND source_key IN ${placeholders(bound.size)} AND operation<>'create'
        AND state IN ('pending','parked','sending','in_doubt')${tx.dialect === 'mysql' ? ' FOR UPDATE' : ''}`,
    [entity, ...bound.keys()],
  );
  await updateRows(
    tx,
    'outbox_message',
    ['id'],
    open.map(({ id, source_key: key, revision }) => {
      const binding = bound.get(key) as BindingRow;
      const offset = Math.max(binding.revision, reached.get(key) ?? 0);
      return { id: Number(id), revision: revision + offset, generation: binding.generation };
    }),
  );
}

/** The newest revision of each record that a binding, open or closed, tells of. */
export async function knownRevisions(tx: Tx, entity: Entity, keys: readonly string[]): Promise<Map<string, number>> {
  const known = new Map<string, number>();
  if (keys.length === 0) return known;
  for (const table of ['binding', 'closed_binding']) {
    const rows = await tx.select<{ source_key: string; revision: number }>(
      `SELECT source_key, revision FROM ${table} WHERE entity=? AND source_key IN ${placeholders(keys.length)}`,
      [entity, ...keys],
    );
    for (const row of rows) known.set(row.source_key, Math.max(row.revision, known.get(row.source_key) ?? 0));
  }
  return known;
}
