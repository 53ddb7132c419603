import type { Entity } from '../model/entity.js';
import { placeholders, type Row, upsertRows } from '../store/rows.js';
import type { Tx } from '../store/store.js';
import { deleteAdoptions } from './adoptions.js';
import { knownRevisions } from './binding-rows.js';
import { closeProven } from './close-proven.js';
import { newestRevisions } from './newest-revisions.js';

/** What is remembered of a record that was removed at the service, with every column it has. */
export interface ClosedBindingRow extends Row {
  entity: string;
  source_key: string;
  service_id: string;
  revision: number;
  generation: number;
  closed_at: number;
}

/** Closed bindings of an entity in the order of their keys, after `afterKey`. */
export async function closedBindingsAfter(
  tx: Tx,
  entity: Entity,
  afterKey: string,
  limit: number,
): Promise<ClosedBindingRow[]> {
  return tx.select<ClosedBindingRow>(
    `SELECT * FROM closed_binding WHERE entity=? AND source_key>? ORDER BY source_key LIMIT ${Math.trunc(limit)}`,
    [entity, afterKey],
  );
}

/**
 * Takes over removals that were exported, unless the store knows something newer. What still waits to be said of these records
 * is closed: a row that is there is captured as a new record, with the key of the next generation.
 * @returns how many were news
 */
export async function importClosedBindings(tx: Tx, rows: readonly ClosedBindingRow[], nowMs: number): Promise<number> {
  let imported = 0;
  for (const entity of ['customer', 'order'] as const) {
    const given = rows.filter((row) => row.entity === entity);
    const known = await knownRevisions(
      tx,
      entity,
      given.map((row) => row.source_key),
    );
    const news = given.filter((row) => row.revision > (known.get(row.source_key) ?? -1));
    if (news.length === 0) continue;
    imported += news.length;
    const keys = news.map((row) => row.source_key);
    const reached = await newestRevisions(tx, entity, keys);
    await upsertRows(
      tx,
      'closed_binding',
      ['entity', 'source_key'],
      // Edits that were captured since have revisions of their own: the removal ends them too.
      news.map((row) => ({ ...row, revision: Math.max(row.revision, reached.get(row.source_key) ?? 0) })),
    );
    await tx.run(`DELETE FROM binding WHERE entity=? AND source_key IN ${placeholders(keys.length)}`, [
      entity,
      ...keys,
    ]);
    await deleteAdoptions(tx, entity, keys);
    const reason = 'The service has it no more: its removal was imported.';
    await closeProven(tx, entity, news, { isBound: false, reason }, nowMs);
  }
  return imported;
}
