import type { Entity } from '../../model/record.js';
import { placeholders, type Row, updateRows, upsertRows } from '../../store/rows.js';
import type { Tx } from '../../store/store.js';
import { deleteAdoptions } from './adoptions.js';
import type { Operation } from './message.js';

/** What an export says of a record: at this revision it was acknowledged, or removed. */
export interface Proof {
  source_key: string;
  revision: number;
}

interface OpenMessage {
  id: number;
  source_key: string;
  revision: number;
  operation: Operation;
  first_sent_at: number | null;
}

/**
 * Closes what was to be said of records of which an export tells the end: whatever is no newer than the export, what a copy was
 * sending included. What was never sent is closed also when it is newer: of a record that is gone everything, of one that is there
 * its create. The updates of one that is there go on: a brake may hold them. Nobody sends meanwhile.
 * @returns how many
 */
export async function closeProven(
  tx: Tx,
  entity: Entity,
  proofs: readonly Proof[],
  what: { isBound: boolean; reason: string },
  nowMs: number,
): Promise<number> {
  if (proofs.length === 0) return 0;
  const revisions = new Map(proofs.map((proof) => [proof.source_key, proof.revision]));
  const open = await tx.select<OpenMessage>(
    `SELECT id, source_key, revision, operation, first_sent_at FROM outbox_message
      WHERE entity=? AND source_key IN ${placeholders(revisions.size)} AND state IN ('pending','parked','sending','in_doubt')
        ${what.isBound ? "AND operation<>'update'" : ''}${tx.forUpdate}`,
    [entity, ...revisions.keys()],
  );
  const proven = open.filter((message) => {
    const isUnsent = message.first_sent_at === null && (message.operation === 'create' || !what.isBound);
    return isUnsent || message.revision <= (revisions.get(message.source_key) as number);
  });
  await updateRows(
    tx,
    'outbox_message',
    ['id'],
    proven.map(({ id }) => ({
      id: Number(id),
      state: 'superseded',
      park_class: null,
      reason: what.reason,
      closed_at: nowMs,
    })),
  );
  return proven.length;
}

/** The newest revision of each record that a message tells of. */
export async function newestRevisions(tx: Tx, entity: Entity, keys: readonly string[]): Promise<Map<string, number>> {
  const rows = await tx.select<{ source_key: string; revision: number }>(
    `SELECT source_key, MAX(revision) AS revision FROM outbox_message
      WHERE entity=? AND source_key IN ${placeholders(keys.length)} GROUP BY source_key`,
    [entity, ...keys],
  );
  return new Map(rows.map((row) => [row.source_key, row.revision]));
}

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
        AND state IN ('pending','parked','sending','in_doubt')${tx.forUpdate}`,
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
