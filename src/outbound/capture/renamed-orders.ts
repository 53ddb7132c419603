import type { ErpReader, ReadCustomer, ReadOrder } from '../../erp/erp-reader.js';
import type { JobContext } from '../../ops/job-context.js';
import { placeholders } from '../../store/rows.js';
import type { Tx } from '../../store/store.js';
import { changedIdentity, renamedMark } from './brake.js';

/**
 * Orders that are new to the store, and have number and identity of a known one whose row is gone: a person may have given the
 * row another key. Sent as new, it would be at the service twice.
 * @param isNew whether nothing was sent of a key, nor is on its way
 * @returns the new key, and the known one
 */
export async function renamedOrders(
  { store }: Pick<JobContext, 'store'>,
  reader: ErpReader,
  rows: readonly (ReadCustomer | ReadOrder)[],
  isNew: (key: string) => boolean,
): Promise<ReadonlyMap<string, string>> {
  const orders = rows.flatMap((row) => (row.entity === 'order' && isNew(row.sourceKey) ? [row] : []));
  const numbers = [...new Set(orders.flatMap(({ number }) => number ?? []))];
  if (numbers.length === 0) return new Map();
  const known = await store.read('look for orders of the same number', (tx) => ordersOf(tx, numbers));
  const pairs = known.flatMap((one) => orders.filter((row) => isSame(row, one)).map((row) => [row, one] as const));
  if (pairs.length === 0) return new Map();
  const keys = [...new Set(pairs.map(([, { sourceKey }]) => sourceKey))];
  const { existing } = await reader.presence('order', keys, true);
  const gone = pairs.filter(([, { sourceKey }]) => existing !== null && !existing.has(sourceKey));
  return new Map(gone.map(([row, { sourceKey }]) => [row.sourceKey, sourceKey]));
}

interface KnownOrder {
  sourceKey: string;
  number: string;
  identity: string | null;
}

function isSame(row: Pick<ReadOrder, 'sourceKey' | 'number' | 'identity'>, one: KnownOrder): boolean {
  if (row.number !== one.number || row.sourceKey === one.sourceKey) return false;
  return row.identity !== null && one.identity !== null && changedIdentity(one.identity, row.identity) === null;
}

/** The known orders with one of these numbers that are at the service, or may be. */
async function ordersOf(tx: Tx, numbers: readonly string[]): Promise<KnownOrder[]> {
  const listed = placeholders(numbers.length);
  return tx.rows(
    `SELECT b.source_key, m.number, b.identity FROM outbox_message m
       JOIN binding b ON b.entity=m.entity AND b.source_key=m.source_key WHERE m.entity='order' AND m.number IN ${listed}
     UNION SELECT source_key, number, identity FROM binding WHERE entity='order' AND number IN ${listed}
     UNION SELECT source_key, number, identity FROM outbox_message
       WHERE entity='order' AND operation='create' AND first_sent_at IS NOT NULL
         AND state IN ('sending','in_doubt','pending','parked') AND number IN ${listed}`,
    [...numbers, ...numbers, ...numbers],
  );
}

/** Of these orders, whose rows are gone: the key under which each seems to stand now, where that is held for a person. */
export async function heldAsRenamed(tx: Tx, keys: readonly string[]): Promise<ReadonlyMap<string, string>> {
  if (keys.length === 0) return new Map();
  const listed = placeholders(keys.length);
  const select = (table: string) =>
    `SELECT o.source_key, h.source_key AS held_key, h.reason FROM ${table} o
       JOIN outbox_message h ON h.number=o.number AND h.entity='order' AND h.source_key<>o.source_key
        AND h.state='parked' AND h.park_class='held' AND h.operation='create'
      WHERE o.entity='order' AND o.source_key IN ${listed}`;
  const rows = await tx.rows<{ sourceKey: string; heldKey: string; reason: string }>(
    `${select('outbox_message')} UNION ${select('binding')}`,
    [...keys, ...keys],
  );
  const held = rows.filter(({ reason }) => reason.startsWith(renamedMark));
  return new Map(held.map(({ sourceKey, heldKey }) => [sourceKey, heldKey]));
}
