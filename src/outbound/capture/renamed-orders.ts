import type { ErpReader, Presence, ReadCustomer, ReadOrder } from '../../erp/erp-reader.js';
import { sourceOf } from '../../model/record.js';
import type { JobContext } from '../../ops/job-context.js';
import { boundedText, placeholders } from '../../store/rows.js';
import type { Tx } from '../../store/store.js';
import { changedIdentity } from './brake.js';

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
  const numbers = [...new Set(orders.flatMap(({ number }) => storedNumber(number) ?? []))];
  if (numbers.length === 0) return new Map();
  const known = await store.read('look for orders of the same number', (tx) => ordersOf(tx, numbers));
  const pairs = known.flatMap((one) => orders.filter((row) => isSame(row, one)).map((row) => [row, one] as const));
  if (pairs.length === 0) return new Map();
  const keys = [...new Set(pairs.map(([, { sourceKey }]) => sourceKey))];
  const presence = await reader.presence('order', keys, true);
  const gone = pairs.filter(([row, { sourceKey }]) => !isStillThere(presence, sourceKey, row.sourceKey));
  return new Map(gone.map(([row, { sourceKey }]) => [row.sourceKey, sourceKey]));
}

/**
 * Whether the ERP has the row of a known key beside the one of a new key. A column that got another type may call both keys equal,
 * so that the new row answers to the known key, or hold the known key no more.
 */
export function isStillThere({ existing, answeredBy }: Presence, known: string, newKey: string): boolean {
  if (existing === null) return true;
  const answer = answeredBy?.get(known);
  return existing.has(known) && answer !== null && answer !== newKey;
}

interface KnownOrder {
  sourceKey: string;
  number: string;
  identity: string | null;
}

/** A number as the store has it; a server takes no statement that holds a text of any length. */
const storedNumber = (number: string | null) => boundedText('outbox_message.number', number);

function isSame(row: Pick<ReadOrder, 'sourceKey' | 'number' | 'identity'>, one: KnownOrder): boolean {
  if (storedNumber(row.number) !== one.number || row.sourceKey === one.sourceKey) return false;
  if (sourceOf(row.sourceKey) !== sourceOf(one.sourceKey)) return false;
  return row.identity !== null && one.identity !== null && changedIdentity(one.identity, row.identity) === null;
}

/** The known orders with one of these numbers that are at the service, or may be. */
async function ordersOf(tx: Tx, numbers: readonly string[]): Promise<KnownOrder[]> {
  const listed = placeholders(numbers.length);
  const of = (condition: string) => `number IN ${listed} AND CASE WHEN ${condition} THEN 1 ELSE 0 END=1`;
  return tx.rows(
    `SELECT b.source_key, m.number, b.identity FROM outbox_message m
       JOIN binding b ON b.entity=m.entity AND b.source_key=m.source_key WHERE m.${of("m.entity='order'")}
     UNION SELECT source_key, number, identity FROM binding WHERE ${of("entity='order'")}
     UNION SELECT source_key, number, identity FROM outbox_message
       WHERE ${of(`entity='order' AND operation='create' AND first_sent_at IS NOT NULL
         AND state IN ('sending','in_doubt','pending','parked')`)}`,
    [...numbers, ...numbers, ...numbers],
  );
}
