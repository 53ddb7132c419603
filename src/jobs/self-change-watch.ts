import type { ErpReader } from '../erp/erp-reader.js';
import type { Entity } from '../model/entity.js';

/** Rows looked at: enough to tell our own hand from a clerk's. */
const sampleSize = 20;

/**
 * Whether our own statement moves the column by which capture finds changes: compares it before and after a write.
 * @returns true: it moved for every row that was looked at; false: it did not; null: nothing could be compared
 */
export async function movesChangedAt(
  reader: ErpReader,
  entity: Entity,
  keys: readonly string[],
  write: () => Promise<void>,
): Promise<boolean | null> {
  const before = await changedAtOf(reader, entity, keys.slice(0, sampleSize));
  await write();
  const known = [...before.keys()];
  if (known.length === 0) return null;
  const after = await changedAtOf(reader, entity, known);
  return known.every((key) => after.has(key) && after.get(key) !== before.get(key));
}

/** A reader that fails here fails for capture too, which says so. */
async function changedAtOf(reader: ErpReader, entity: Entity, keys: readonly string[]): Promise<Map<string, string>> {
  if (keys.length === 0) return new Map();
  const filter = { keys: [...keys] };
  try {
    const { rows } = await (entity === 'order'
      ? reader.sweepOrders(null, sampleSize, filter)
      : reader.sweepCustomers(null, sampleSize, filter));
    return new Map(rows.flatMap(({ sourceKey, changedAt }) => (changedAt === null ? [] : [[sourceKey, changedAt]])));
  } catch {
    return new Map();
  }
}
