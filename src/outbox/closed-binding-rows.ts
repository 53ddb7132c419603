import type { Entity } from '../model/entity.js';
import { placeholders, type Row, updateRows, upsertRows } from '../store/rows.js';
import type { Tx } from '../store/store.js';
import { deleteAdoptions } from './adoptions.js';
import { knownRevisions } from './binding-rows.js';
import { createKey } from './idempotency-key.js';

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
 * Takes over removals that were exported, unless the store knows something newer. A create that was captured meanwhile and
 * never sent gets the key of the next generation: to the old one the service would answer with the record that it removed.
 * @returns how many were news
 */
export async function importClosedBindings(
  tx: Tx,
  installation: string,
  rows: readonly ClosedBindingRow[],
): Promise<number> {
  let imported = 0;
  for (const entity of ['customer', 'order'] as const) {
    const given = rows.filter((row) => row.entity === entity);
    const known = await knownRevisions(
      tx,
      entity,
      given.map((row) => row.source_key),
    );
    const news = new Map(
      given
        .filter((row) => row.revision > (known.get(row.source_key) ?? -1))
        .map((row): [string, ClosedBindingRow] => [row.source_key, row]),
    );
    if (news.size === 0) continue;
    imported += news.size;
    await upsertRows(tx, 'closed_binding', ['entity', 'source_key'], [...news.values()]);
    const keys = placeholders(news.size);
    await tx.run(`DELETE FROM binding WHERE entity=? AND source_key IN ${keys}`, [entity, ...news.keys()]);
    await deleteAdoptions(tx, entity, [...news.keys()]);
    const creates = await tx.select<{ id: number; source_key: string; revision: number; generation: number }>(
      `SELECT id, source_key, revision, generation FROM outbox_message
        WHERE entity=? AND source_key IN ${keys}
          AND operation='create' AND state IN ('pending','parked') AND first_sent_at IS NULL`,
      [entity, ...news.keys()],
    );
    await updateRows(
      tx,
      'outbox_message',
      ['id'],
      creates.map((row) => {
        const { revision, generation } = news.get(row.source_key) as ClosedBindingRow;
        const next = Math.max(row.generation, generation + 1);
        return {
          id: Number(row.id),
          revision: Math.max(row.revision, revision + 1),
          generation: next,
          idempotency_key: createKey(installation, entity, row.source_key, next),
        };
      }),
    );
  }
  return imported;
}
