import { ErpError, type ErpReader, type ReadCustomer, type ReadOrder, type RowFilter } from '../../erp/erp-reader.js';
import { rowFact } from '../../model/facts/rows.js';
import { type Entity, isShortened, orderTotal } from '../../model/record.js';
import type { JobContext } from '../../ops/job-context.js';
import { type KnownRecord, knownRecords, respell } from '../../outbound/capture/known-records.js';
import type { Tx } from '../../store/store.js';
import type { ErpSide } from './name-finding.js';
import type { ReconcileAsks } from './reconcile-rows.js';

export interface BoundRow {
  sourceKey: string;
  serviceId: string;
  revision: number;
  acknowledged: string | null;
  acknowledgedAt: number;
  number: string | null;
}

const columns = 'source_key, service_id, revision, acknowledged, acknowledged_at, number';

/** The records that the service is known to have, in the order of the keys. */
export async function boundAfter(tx: Tx, entity: Entity, afterKey: string, limit: number): Promise<BoundRow[]> {
  return tx.rows(
    `SELECT ${columns} FROM binding
      WHERE entity=? AND source_key>? ORDER BY source_key LIMIT ${Math.trunc(limit)}`,
    [entity, afterKey],
  );
}

/** Some records that the service is known to have besides those that a comparison found: the last and the first acknowledged. */
export async function boundBeside(tx: Tx, entity: Entity, runId: number): Promise<BoundRow[]> {
  const each = async (order: 'ASC' | 'DESC'): Promise<BoundRow[]> =>
    tx.rows(
      `SELECT ${columns} FROM binding b
        WHERE entity=? AND gone_at IS NULL AND NOT EXISTS
          (SELECT 1 FROM reconcile_finding f WHERE f.run_id=? AND f.entity=b.entity AND f.source_key=b.source_key)
        ORDER BY acknowledged_at ${order}, source_key ${order} LIMIT 5`,
      [entity, runId],
    );
  const found = [...(await each('DESC')), ...(await each('ASC'))];
  return [...new Map(found.map((row) => [row.sourceKey, row])).values()];
}

export type ReadRow = ReadCustomer | ReadOrder;

/** A record that is bound, as store and ERP have it. */
export interface KnownPair {
  bound: BoundRow;
  known: KnownRecord;
  erp: ErpSide;
  /** The row of the ERP, where there is one. */
  row: ReadRow | null;
}

/** The bound records of a page that were asked for, each with its row, eligible or not. */
export async function readPairs(
  context: JobContext,
  reader: ErpReader,
  entity: Entity,
  page: readonly BoundRow[],
  asks: ReconcileAsks,
): Promise<KnownPair[]> {
  const keys = page.map(({ sourceKey }) => sourceKey);
  const known = await context.store.read('look what is known', (tx) => knownRecords(tx, entity, keys));
  const rowsOf = async (asked: string[], range: Pick<RowFilter, 'from' | 'to'> = {}): Promise<Map<string, ReadRow>> => {
    if (asked.length === 0) return new Map();
    const filter = { keys: asked, anyStanding: true, forPeople: true, ...range };
    const { rows } = await respell(context, reader, entity, await reader.sweep(entity, null, asked.length, filter));
    return new Map(rows.map((row): [string, ReadRow] => [row.sourceKey, row]));
  };
  const askable = keys.filter((key) => !isShortened(key));
  // One key that no row can have must not keep the others from being read.
  const rows = await rowsOf(askable).catch(async (error: unknown) => {
    const each = unlessRefused(error);
    for (const key of askable) for (const [own, row] of await rowsOf([key]).catch(unlessRefused)) each.set(own, row);
    return each;
  });
  const { existing, cancelled } = await reader.presence(entity, keys, true);
  const { from, to, fromMs, toMs } = asks;
  const comparesTotal = context.settings.service.checkTotal === 'exact';
  const isLimited = from !== null || to !== null;
  const range = { ...(from !== null && { from }), ...(to !== null && { to }) };
  const inRange = isLimited ? await rowsOf([...rows.keys()], range) : rows;
  return page.flatMap((bound): KnownPair[] => {
    const { sourceKey, acknowledgedAt: at } = bound;
    const row = rows.get(sourceKey) ?? null;
    // A record that has left the ERP has no date there: the time counts at which the service acknowledged it.
    const isWanted = row ? inRange.has(sourceKey) : at >= (fromMs ?? at) && at < (toMs ?? at + 1);
    if (!isWanted) return [];
    const erp = sideOf(row, cancelled.has(sourceKey), existing?.has(sourceKey) ?? true, comparesTotal);
    return [{ bound, known: known.get(sourceKey) as KnownRecord, erp, row }];
  });
}

/** A key in a form that no row can have finds none. @throws whatever else went wrong */
function unlessRefused(error: unknown): Map<string, ReadRow> {
  if (error instanceof ErpError && error.kind === 'request') return new Map();
  throw error;
}

/** Which of these rows may be sent as they stand. */
export async function eligibleKeys(
  context: JobContext,
  reader: ErpReader,
  entity: Entity,
  keys: string[],
): Promise<ReadonlySet<string>> {
  if (keys.length === 0) return new Set();
  const { rows } = await respell(context, reader, entity, await reader.sweep(entity, null, keys.length, { keys }));
  return new Set(rows.map(({ sourceKey }) => sourceKey));
}

function sideOf(row: ReadRow | null, isCancelled: boolean, exists: boolean, comparesTotal: boolean): ErpSide {
  if (isCancelled) return { kind: 'cancelled' };
  if (row === null) return exists ? { kind: 'unmapped', reason: { code: 'row_not_found' } } : { kind: 'gone' };
  return rowSide(row, comparesTotal);
}

export function rowSide(row: ReadRow, comparesTotal = true): Extract<ErpSide, { kind: 'row' | 'unmapped' }> {
  const { content } = row;
  if (!content.mapped) return { kind: 'unmapped', reason: rowFact(content.problems) };
  return { kind: 'row', record: content.record, total: comparesTotal ? erpTotalOf(row) : null };
}

/** The amount of an order in the ERP; null: a customer, or not known. */
export function erpTotalOf(row: ReadRow | null): bigint | null {
  if (row?.entity !== 'order') return null;
  if (row.content.mapped) return orderTotal(row.content.record.items);
  return row.totals === null ? null : BigInt(row.totals.header);
}
