import { ErpError, type ErpReader, type ReadCustomer, type ReadOrder } from '../../erp/erp-reader.js';
import type { Entity } from '../../model/record.js';

/** Eligible rows by key. A key in a form that no row can have is not found, and spoils nothing for the others. */
export async function readClaimedRows(
  reader: ErpReader,
  entity: Entity,
  keys: readonly string[],
): Promise<Map<string, ReadCustomer | ReadOrder>> {
  const rows = new Map<string, ReadCustomer | ReadOrder>();
  if (keys.length === 0) return rows;
  try {
    const filter = { keys: [...keys] };
    const page =
      entity === 'order'
        ? await reader.sweepOrders(null, keys.length, filter)
        : await reader.sweepCustomers(null, keys.length, filter);
    for (const row of page.rows) rows.set(row.sourceKey, row);
    return rows;
  } catch (error) {
    if (!(error instanceof ErpError) || error.kind !== 'request') throw error;
    if (keys.length === 1) return rows;
  }
  const half = Math.ceil(keys.length / 2);
  for (const part of [keys.slice(0, half), keys.slice(half)])
    for (const [key, row] of await readClaimedRows(reader, entity, part)) rows.set(key, row);
  return rows;
}
