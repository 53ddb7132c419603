import type { Entity } from '../../model/record.js';
import { placeholders, type Row } from '../../store/rows.js';
import type { Tx } from '../../store/store.js';

/** Bindings with every column they have, as they are exported and imported. */
export interface BindingRow extends Row {
  entity: string;
  source_key: string;
  service_id: string;
  revision: number;
  generation: number;
  content_hash: string | null;
}

/** The memory of a record that was removed at the service, or of a key that a record has left. */
export interface ClosedBindingRow extends Row {
  entity: string;
  source_key: string;
  /** Null: not known. */
  service_id: string | null;
  /** Null: the row tells of no removed record, but of the idempotency keys that were used. */
  revision: number | null;
  generation: number;
  closed_at: number;
}

/** Rows of an entity in the order of their keys, after `afterKey`. */
export async function bindingsAfter(tx: Tx, entity: Entity, afterKey: string, limit: number): Promise<BindingRow[]> {
  const rows = await rowsAfter<BindingRow>(tx, 'binding', entity, afterKey, limit);
  return entity === 'order' ? withNumbers(tx, rows) : rows;
}

/** An order's number lies with its messages until these are pruned. Without it a lost store would not see that a key was renamed. */
async function withNumbers(tx: Tx, rows: readonly BindingRow[]): Promise<BindingRow[]> {
  if (rows.length === 0) return [];
  const keys = rows.map(({ source_key }) => source_key);
  const named = await tx.rows<{ sourceKey: string; number: string }>(
    `SELECT source_key, number FROM outbox_message
      WHERE entity='order' AND number IS NOT NULL AND source_key IN ${placeholders(keys.length)} ORDER BY revision`,
    keys,
  );
  const numbers = new Map(named.map(({ sourceKey, number }) => [sourceKey, number]));
  return rows.map((row) => ({ ...row, number: numbers.get(row.source_key) ?? row.number ?? null }));
}

/** The same of what was removed at the service. */
export async function closedBindingsAfter(
  tx: Tx,
  entity: Entity,
  afterKey: string,
  limit: number,
): Promise<ClosedBindingRow[]> {
  return rowsAfter(tx, 'closed_binding', entity, afterKey, limit);
}

async function rowsAfter<T>(tx: Tx, table: string, entity: Entity, afterKey: string, limit: number): Promise<T[]> {
  return tx.select<T>(
    `SELECT * FROM ${table} WHERE entity=? AND source_key>? ORDER BY source_key LIMIT ${Math.trunc(limit)}`,
    [entity, afterKey],
  );
}

/** Keys of the records that the service has, in the order of the keys, after `afterKey`. */
export async function boundKeys(tx: Tx, entity: Entity, afterKey: string, limit: number): Promise<string[]> {
  const rows = await tx.rows<{ sourceKey: string }>(
    `SELECT source_key FROM binding WHERE entity=? AND source_key>? ORDER BY source_key LIMIT ${Math.trunc(limit)}`,
    [entity, afterKey],
  );
  return rows.map((row) => row.sourceKey);
}
