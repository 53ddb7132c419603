import { appendAudit } from '../../audit/audit-log.js';
import type { ReadCustomer, ReadOrder } from '../../erp/erp-reader.js';
import { idIsCode, sourceNames, sourceOf } from '../../model/record.js';
import type { JobContext } from '../../ops/job-context.js';
import { padded, placeholders, renameKeys, updateRows } from '../../store/rows.js';
import type { Tx } from '../../store/store.js';
import { supersedeUnsent } from '../outbox/transitions.js';
import { type KnownRecord, knownRecords } from './known-records.js';
import { identityOf, type ReadRow } from './plan-row.js';

/** Customers of one source, by key, whose code belongs to a customer that another source has at the service: its key. */
export type SharedCustomers = ReadonlyMap<string, string>;

/**
 * Find customers that another source has at the service already, where the service tells customers apart by their code. Nothing
 * is sent of them, and their orders are those of the other record. Each read asks again: a code that changes ends it.
 */
export async function sharedCustomers(
  { store, settings }: Pick<JobContext, 'store' | 'settings'>,
  rows: readonly ReadCustomer[],
): Promise<SharedCustomers> {
  if (sourceNames(settings).length === 1 || rows.length === 0) return new Map();
  const isCodeId = idIsCode(settings.service.acknowledgement);
  return store.read('look for customers of other sources', async (tx) => {
    const known = await knownRecords(
      tx,
      'customer',
      rows.map(({ sourceKey }) => sourceKey),
    );
    const unbound = rows.flatMap((row) => {
      const identity = identityOf(row);
      const record = known.get(row.sourceKey) as KnownRecord;
      return identity !== null && mayShare(record, isCodeId) ? [{ sourceKey: row.sourceKey, identity }] : [];
    });
    if (unbound.length === 0) return new Map<string, string>();
    const identities = padded([...new Set(unbound.map(({ identity }) => identity))]);
    const bound = await tx.rows<{ sourceKey: string; identity: string }>(
      `SELECT source_key, identity FROM binding WHERE entity='customer' AND identity IN ${placeholders(identities.length)}`,
      identities,
    );
    return new Map(
      unbound.flatMap(({ sourceKey, identity }) => {
        const isOther = (key: string) => sourceOf(key) !== sourceOf(sourceKey);
        const holder = bound.find((one) => one.identity === identity && isOther(one.sourceKey));
        return holder === undefined ? [] : [[sourceKey, holder.sourceKey] as const];
      }),
    );
  });
}

/** True if nothing of the record can be at the service under a key of its own. Pure. */
function mayShare({ newest, binding, unproven }: KnownRecord, isCodeId: boolean): boolean {
  if (binding !== null || unproven !== undefined) return false;
  // A service with ids of its own may have a customer of the same code for each. It said that it has not.
  if (!isCodeId) return newest?.reason?.code === 'code_shared' || newest?.reason?.code === 'customer_of_other_source';
  if (newest === null) return true;
  if (newest.operation !== 'create') return false;
  return newest.state === 'superseded' || newest.state === 'pending' || newest.state === 'parked';
}

/** A page without those customers, and with its orders under the customer that the service has. */
export function withShared<P extends { rows: readonly ReadRow[]; customers: readonly ReadCustomer[] }>(
  page: P,
  shared: SharedCustomers,
): P {
  if (shared.size === 0) return page;
  const isOwn = ({ sourceKey }: ReadCustomer) => !shared.has(sourceKey);
  const rows = page.rows.flatMap((row): (ReadCustomer | ReadOrder)[] => {
    if (row.entity === 'customer') return isOwn(row) ? [row] : [];
    return [{ ...row, customerKey: shared.get(row.customerKey ?? '') ?? row.customerKey }];
  });
  return { ...page, rows, customers: page.customers.filter(isOwn) };
}

/** Closes what was captured of such customers before, and lets their orders wait for the other record. */
export async function closeShared(
  tx: Tx,
  { actor }: Pick<JobContext, 'actor'>,
  shared: SharedCustomers,
  nowMs: number,
): Promise<void> {
  if (shared.size === 0) return;
  const keys = padded([...shared.keys()]);
  const open = await tx.rows<{ id: number; sourceKey: string }>(
    `SELECT id, source_key FROM outbox_message
      WHERE entity='customer' AND source_key IN ${placeholders(keys.length)}
        AND CASE WHEN state IN ('pending','parked') THEN 1 ELSE 0 END=1${tx.forUpdate}`,
    keys,
  );
  for (const { id, sourceKey } of open) {
    const by = shared.get(sourceKey) as string;
    const reason = { code: 'customer_of_other_source', sourceKey: by } as const;
    if ((await supersedeUnsent(tx, [id], reason, nowMs)) === 0) continue;
    await renameKeys(tx, 'outbox_message', 'customer_key', 'order', new Map([[sourceKey, by]]));
    const name = { entity: 'customer', sourceKey, messageId: id, actor } as const;
    await appendAudit(tx, [{ event: 'superseded', ...name, detail: { reason } }], nowMs);
  }
}

/** An open order, with the customer that its row names now. */
export type MovedOrder = {
  source_key: string;
  customer_key: string | null;
};

const isOpen: ReadonlySet<string> = new Set(['pending', 'sending', 'in_doubt', 'parked']);

/**
 * The order of a row, if it is open and waits for another customer than the one it has now. A customer that takes over an order
 * together with the code changes nothing of its content. Pure.
 */
export function movedOrders(row: ReadRow, { newest }: Pick<KnownRecord, 'newest'>): MovedOrder[] {
  if (row.entity !== 'order' || newest === null || !isOpen.has(newest.state) || newest.operation === 'delete')
    return [];
  if (newest.customerKey === row.customerKey) return [];
  return [{ source_key: row.sourceKey, customer_key: row.customerKey }];
}

/** Lets what is open of these orders wait for the customers that their rows name. */
export async function moveToCustomers(tx: Tx, moved: readonly MovedOrder[]): Promise<void> {
  const guard = "t.entity='order' AND t.operation<>'delete' AND t.state IN ('pending','sending','in_doubt','parked')";
  await updateRows(
    tx,
    'outbox_message',
    ['source_key'],
    moved.map(({ source_key, customer_key }) => ({ source_key, customer_key })),
    { guard },
  );
}
