import type { ErpReader, Namesake } from '../../erp/erp-reader.js';
import type { RecordFact } from '../../model/facts/records.js';
import type { Entity } from '../../model/record.js';
import type { JobContext } from '../../ops/job-context.js';
import { placeholders } from '../../store/rows.js';
import type { Tx } from '../../store/store.js';
import { readStoreInfo } from '../../store/store-info.js';
import type { MessageState } from '../outbox/message.js';
import { acknowledgedRecords, type KnownRecord } from './known-records.js';
import { changedIdentity } from './safety-limits.js';

/*
 * The store's facts about records whose rows are gone.
 */

/**
 * The record as it was last wanted: that of the newest message. If that message was superseded,
 * what the service acknowledged, where that is known.
 */
export async function lastRecords(
  tx: Tx,
  entity: Entity,
  known: ReadonlyMap<string, KnownRecord>,
): Promise<Map<string, string>> {
  const records = await acknowledgedRecords(tx, entity, [...known.keys()]);
  const ids = [...known.values()].flatMap(({ newest }) => newest?.id ?? []);
  if (ids.length === 0) return records;
  const wanted = await tx.rows<{ sourceKey: string; state: MessageState; record: string }>(
    `SELECT m.source_key, m.state, b.record FROM outbox_message m JOIN message_body b ON b.message_id=m.id
      WHERE m.id IN ${placeholders(ids.length)} AND m.operation<>'delete'`,
    ids,
  );
  for (const { sourceKey, state, record } of wanted)
    if (state !== 'superseded' || !records.has(sourceKey)) records.set(sourceKey, record);
  return records;
}

/**
 * Finds the key under which each of these records, whose rows are gone, seems to go on in the ERP: another row has its number or
 * code, and the same identity as far as both are known. That row may be one that can't be sent now, such as a draft. Null: after a
 * recovery nothing tells the number or code of the record, so that the ERP can not be asked.
 */
export async function findRenamed(
  { store }: Pick<JobContext, 'store'>,
  reader: Pick<ErpReader, 'namesakes'>,
  entity: Entity,
  keys: readonly string[],
): Promise<ReadonlyMap<string, string | null>> {
  if (keys.length === 0) return new Map();
  const { known, isRecovered } = await store.read('read the names of records that are gone', async (tx) => ({
    known: await namesOf(tx, entity, keys),
    isRecovered: (await readStoreInfo(tx, 'recovered_to')) !== null,
  }));
  const nameless = isRecovered ? keys.filter((key) => !known.has(key)) : [];
  const unknown = new Map<string, null>(nameless.map((key) => [key, null]));
  if (known.size === 0) return unknown;
  const names = new Map([...known].map(([key, { name }]) => [key, name]));
  const namesakes = await reader.namesakes(entity, names);
  const same = [...namesakes].flatMap(([key, rows]) => {
    const identity = known.get(key)?.identity ?? null;
    const isSame = (row: Namesake) => changedIdentity(identity, row.identity) === null;
    return rows.flatMap((row) => (row.sourceKey !== key && isSame(row) ? [{ from: key, to: row.sourceKey }] : []));
  });
  if (same.length === 0) return unknown;
  const others = [...new Set(same.map(({ to }) => to))];
  const own = await store.read('look which rows are records of their own', (tx) => ownRecords(tx, entity, others));
  const renamed = same.filter(({ to }) => !own.has(to)).map(({ from, to }) => [from, to] as const);
  return new Map<string, string | null>([...unknown, ...renamed]);
}

/** Why the removal of a record waits for a person. @param to as `findRenamed` found it */
export function renamedReason(entity: Entity, from: string, to: string | null): RecordFact {
  return to === null ? { code: 'name_unknown', entity } : { code: 'seems_renamed', entity, from, to };
}

/** The number of each order, or the code of each customer, with what never changes of it. */
async function namesOf(
  tx: Tx,
  entity: Entity,
  keys: readonly string[],
): Promise<Map<string, { name: string; identity: string | null }>> {
  const listed = placeholders(keys.length);
  const rows = await tx.rows<{ sourceKey: string; number: string | null; identity: string | null; revision: number }>(
    `SELECT source_key, number, identity, revision FROM outbox_message
      WHERE entity=? AND source_key IN ${listed} AND operation<>'delete'
      UNION ALL SELECT source_key, number, identity, revision FROM binding WHERE entity=? AND source_key IN ${listed}
      ORDER BY revision`,
    [entity, ...keys, entity, ...keys],
  );
  const names = new Map<string, { name: string; identity: string | null }>();
  for (const { sourceKey, number, identity } of rows) {
    const name = entity === 'order' ? number : codeOf(identity);
    const before = names.get(sourceKey);
    if (name !== null) names.set(sourceKey, { name, identity: identity ?? before?.identity ?? null });
  }
  return names;
}

function codeOf(identity: string | null): string | null {
  return identity === null ? null : ((JSON.parse(identity) as { customer_code?: string }).customer_code ?? null);
}

/** Those of these keys whose records the service has beside others, or that a person sent as records of their own. */
async function ownRecords(tx: Tx, entity: Entity, keys: readonly string[]): Promise<ReadonlySet<string>> {
  const listed = placeholders(keys.length);
  const rows = await tx.rows<{ sourceKey: string }>(
    `SELECT source_key FROM binding WHERE entity=? AND source_key IN ${listed}
      UNION SELECT source_key FROM outbox_message
       WHERE entity=? AND source_key IN ${listed} AND operation='create' AND confirmed_at IS NOT NULL`,
    [entity, ...keys, entity, ...keys],
  );
  return new Set(rows.map(({ sourceKey }) => sourceKey));
}

/** Those of these removals that a person let go: whether the record goes on elsewhere is not asked again. */
export async function confirmedRemovals(tx: Tx, ids: readonly number[]): Promise<ReadonlySet<number>> {
  const rows = await tx.rows<{ id: number }>(
    `SELECT id FROM outbox_message WHERE confirmed_at IS NOT NULL AND id IN ${placeholders(ids.length)}`,
    [...ids],
  );
  return new Set(rows.map(({ id }) => id));
}
