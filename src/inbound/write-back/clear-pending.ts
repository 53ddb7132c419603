import { ErpError, type ErpReader, type ReadCustomer, type ReadOrder } from '../../erp/erp-reader.js';
import { isShortened } from '../../erp/source-key.js';
import type { Entity } from '../../model/record.js';
import type { WriteBackRow } from '../../model/write-back.js';
import type { JobContext } from '../../ops/job-context.js';
import { type KnownRecord, knownRecords, respell } from '../../outbound/capture/known-records.js';
import { contentHash } from '../../outbound/capture/plan-row.js';

/**
 * How long a row has to stand still, by the ERP's clock. An edit that comes later than that has another changed-at, though the
 * clocks of the ERP's programs differ by seconds and the column has no fractions: the statement, which compares it, leaves
 * the flag as it is, and capture finds the change.
 */
const restSeconds = 10;

const isOpen = new Set(['pending', 'sending', 'in_doubt', 'parked']);

/**
 * Whether the flag of a pending row may be set back. Pure. What the service has acknowledged must be what the row says, and
 * nothing of the record may be under way or wait for a person.
 */
export function maySetBack(
  row: ReadCustomer | ReadOrder,
  { newest, binding }: Pick<KnownRecord, 'newest' | 'binding'>,
): 'yes' | 'later' | 'no' {
  if (binding === null || row.changedAt === null || !row.content.mapped) return 'no';
  if (newest !== null && isOpen.has(newest.state)) return 'no';
  if (binding.contentHash !== contentHash(row)) return 'no';
  // A version is another one after each change; only times may stand still.
  return row.ageSeconds === null || row.ageSeconds >= restSeconds ? 'yes' : 'later';
}

interface ClearChange {
  key: string;
  row: WriteBackRow;
}

/** Those of these records that are still pending in the ERP though the service has what their rows say. */
export async function clearable(
  context: JobContext,
  reader: ErpReader,
  entity: Entity,
  keys: readonly string[],
): Promise<{ clear: ClearChange[]; later: string[] }> {
  const asked = [...new Set(keys)].filter((key) => !isShortened(key));
  const known = await context.store.read('look what was acknowledged', (tx) => knownRecords(tx, entity, asked));
  const bound = asked.filter((key) => known.get(key)?.binding);
  const rows = await readPending(context, reader, entity, bound);
  if (rows === null) return { clear: [], later: bound };
  const clear: ClearChange[] = [];
  const later: string[] = [];
  for (const row of rows) {
    const record = known.get(row.sourceKey);
    const answer = record === undefined ? 'no' : maySetBack(row, record);
    if (answer === 'later') later.push(row.sourceKey);
    if (answer === 'yes') clear.push({ key: row.sourceKey, row: { changed_at: row.changedAt } });
  }
  return { clear, later };
}

/** Why the statement had no effect, by key: rows that are pending as they were, and did not change meanwhile. */
export async function stillPending(
  context: JobContext,
  reader: ErpReader,
  entity: Entity,
  cleared: readonly ClearChange[],
): Promise<Map<string, string>> {
  const before = new Map(cleared.map(({ key, row }) => [key, row.changed_at]));
  const rows = await readPending(context, reader, entity, [...before.keys()]);
  const same = (rows ?? []).filter(({ sourceKey, changedAt }) => before.get(sourceKey) === changedAt);
  const setting = `writeBack.${entity}s.clearPending`;
  const reason = (changedAt: string | null) =>
    `it is pending as before after ${setting} ran with :changed_at ${changedAt}; correct the statement.`;
  return new Map(same.map(({ sourceKey, changedAt }) => [sourceKey, reason(changedAt)]));
}

/** Null where the ERP can't be read: that fails for capture too, which reports it. */
async function readPending(context: JobContext, reader: ErpReader, entity: Entity, keys: readonly string[]) {
  if (keys.length === 0) return [];
  try {
    const page = await reader.sweep(entity, null, keys.length, { keys: [...keys] });
    return (await respell(context, reader, entity, page)).rows;
  } catch (error) {
    if (error instanceof ErpError) return null;
    throw error;
  }
}
