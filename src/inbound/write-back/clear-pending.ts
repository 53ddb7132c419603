import { ErpError, type ErpReader, type ReadCustomer, type ReadOrder } from '../../erp/erp-reader.js';
import type { ListFact } from '../../model/facts/lists.js';
import { outside } from '../../model/outside.js';
import type { Entity } from '../../model/record.js';
import { isShortened } from '../../model/record.js';
import type { JobContext } from '../../ops/job-context.js';
import { type ContentHash, canonicalJson, sha256 } from '../../outbound/outbox/content-hash.js';
import { placeholders } from '../../store/rows.js';
import type { Tx } from '../../store/store.js';

/**
 * The time for which a row has to stand still, by the ERP's clock. An edit that comes later than that has another
 * changed-at, though the clocks of the ERP's programs differ by seconds and the column has no fractions: the statement,
 * which compares it, leaves the flag as it is, and capture finds the change.
 */
const restSeconds = 10;

/**
 * True if the flag of a pending row may be set back. Pure.
 * @param acknowledged content hash of what the service has; undefined: it has nothing, or something else is under way
 */
export function maySetBack(
  row: ReadCustomer | ReadOrder,
  acknowledged: ContentHash | undefined,
): 'yes' | 'later' | 'no' {
  if (row.changedAt === null || !row.content.mapped) return 'no';
  if (sha256(canonicalJson(row.content.record)) !== acknowledged) return 'no';
  // A version is another one after each change; only times may stand still.
  return row.ageSeconds === null || row.ageSeconds >= restSeconds ? 'yes' : 'later';
}

/**
 * Content hashes of what the service has of these records. Those of which something else is on its way, or waits for a person,
 * are left out: the ERP may take it back, and capture has to read the row for that.
 */
async function acknowledgedHashes(tx: Tx, entity: Entity, keys: readonly string[]): Promise<Map<string, ContentHash>> {
  if (keys.length === 0) return new Map();
  const rows = await tx.rows<{ sourceKey: string; contentHash: ContentHash }>(
    `SELECT b.source_key, b.content_hash FROM binding b
      WHERE b.entity=? AND b.source_key IN ${placeholders(keys.length)}
        AND NOT EXISTS (SELECT 1 FROM outbox_message m WHERE m.entity=b.entity AND m.source_key=b.source_key
                           AND m.state IN ('pending','sending','in_doubt','parked'))`,
    [entity, ...keys],
  );
  return new Map(rows.map((row) => [row.sourceKey, row.contentHash]));
}

interface ClearChange {
  key: string;
  row: { changed_at: string | null };
}

/** Those of these records that are still pending in the ERP though the service has what their rows say. */
export async function clearable(
  { store }: Pick<JobContext, 'store'>,
  reader: ErpReader,
  entity: Entity,
  keys: readonly string[],
): Promise<{ clear: ClearChange[]; later: string[] }> {
  const asked = [...new Set(keys)].filter((key) => !isShortened(key));
  const hashes = await store.read('look what was acknowledged', (tx) => acknowledgedHashes(tx, entity, asked));
  const rows = await readPending(reader, entity, [...hashes.keys()]);
  if (rows === null) return { clear: [], later: [...hashes.keys()] };
  const judged = rows.map((row) => ({ row, answer: maySetBack(row, hashes.get(row.sourceKey)) }));
  return {
    clear: judged.flatMap(({ row, answer }) =>
      answer === 'yes' ? [{ key: row.sourceKey, row: { changed_at: row.changedAt } }] : [],
    ),
    later: judged.flatMap(({ row, answer }) => (answer === 'later' ? [row.sourceKey] : [])),
  };
}

/** Why the statement had no effect, by key: rows that are pending as they were, and did not change meanwhile. */
export async function stillPending(
  reader: ErpReader,
  entity: Entity,
  cleared: readonly ClearChange[],
): Promise<Map<string, ListFact>> {
  const before = new Map(cleared.map(({ key, row }) => [key, row.changed_at]));
  const rows = (await readPending(reader, entity, [...before.keys()])) ?? [];
  const same = rows.filter(({ sourceKey, changedAt }) => before.get(sourceKey) === changedAt);
  const kind = entity === 'order' ? 'orders' : 'customers';
  const reason = (changedAt: string | null): ListFact => ({
    code: 'still_pending',
    kind,
    changedAt: changedAt === null ? null : outside(changedAt),
  });
  return new Map(same.map(({ sourceKey, changedAt }) => [sourceKey, reason(changedAt)]));
}

/** Null where the ERP can't be read: that fails for capture too, which reports it. */
async function readPending(reader: ErpReader, entity: Entity, keys: readonly string[]) {
  if (keys.length === 0) return [];
  try {
    return (await reader.sweep(entity, null, keys.length, { keys: [...keys] })).rows;
  } catch (error) {
    if (error instanceof ErpError) return null;
    throw error;
  }
}
