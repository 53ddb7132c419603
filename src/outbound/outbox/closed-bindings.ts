import type { Entity } from '../../model/record.js';
import { placeholders } from '../../store/rows.js';
import type { Tx } from '../../store/store.js';
import type { ClosedBindingRow } from './exported-bindings.js';

/**
 * The newest generation of each of these keys that stays used when its record is gone, or has another key (`rekey`): no record
 * that gets the key begins with it.
 */
export async function usedGenerations(tx: Tx, entity: Entity, keys: readonly string[]): Promise<Map<string, number>> {
  if (keys.length === 0) return new Map();
  const rows = await tx.rows<{ sourceKey: string; generation: number }>(
    `SELECT source_key, generation FROM closed_binding WHERE entity=? AND source_key IN ${placeholders(keys.length)}`,
    [entity, ...keys],
  );
  return new Map(rows.map((row) => [row.sourceKey, row.generation]));
}

/** These rows as they are to be written: a generation that was used stays used. */
export async function keepingUsed(
  tx: Tx,
  entity: Entity,
  closed: readonly ClosedBindingRow[],
): Promise<ClosedBindingRow[]> {
  const keys = closed.map((row) => row.source_key);
  const used = await usedGenerations(tx, entity, keys);
  return closed.map((row) => ({ ...row, generation: Math.max(row.generation, used.get(row.source_key) ?? 0) }));
}

/** The memory of a key that a record leaves. */
export function leftKey(
  entity: Entity,
  { sourceKey, generation, revision = null }: { sourceKey: string; generation: number; revision?: number | null },
  nowMs: number,
): ClosedBindingRow {
  return { entity, source_key: sourceKey, service_id: null, revision, generation, closed_at: nowMs };
}
