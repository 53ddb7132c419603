import type { Fact } from '../../model/facts/fact.js';
import type { RowFact } from '../../model/facts/rows.js';
import type { Tx } from '../../store/store.js';
import { acknowledgedRecords, type KnownRecord } from './known-records.js';
import type { Plan, ReadRow, SkippedRecord } from './plan-row.js';

/** The decision of a dry run about one row. */
export interface JudgedRow {
  row: ReadRow;
  outcome: Plan | SkippedRecord | 'unchanged';
  /** Why a person has to look first, also where an earlier pass has found that; null: it can be sent. */
  parked: Fact | null;
  /** Why it waits before it is captured, or null. */
  waits: Fact | null;
  /** Its newest message, or null. */
  newest: Pick<NonNullable<KnownRecord['newest']>, 'state' | 'parkClass' | 'operation'> | null;
  /** The last acknowledged content, as JSON; null if none is known. */
  acknowledged: string | null;
}

export interface JudgedPage {
  rows: JudgedRow[];
  /** The customers of the orders. One comes again with each page that has orders of it. */
  customers: JudgedRow[];
}

/**
 * @param outcome what `planRow` decided
 * @param unsettled why its lines keep it back, if they do
 */
export function judgement(
  row: ReadRow,
  outcome: JudgedRow['outcome'],
  { newest }: KnownRecord,
  unsettled: RowFact | null,
): JudgedRow {
  const planned = outcome === 'unchanged' || 'reason' in outcome ? null : outcome.message;
  const waitsAlready = outcome === 'unchanged' && newest?.state === 'parked' ? (unsettled ?? newest.reason) : null;
  return { row, outcome, parked: planned?.parked?.reason ?? waitsAlready, waits: null, newest, acknowledged: null };
}

/** Completes updates with what they change. @param rows of one entity */
export async function noteAcknowledged(tx: Tx, rows: readonly JudgedRow[]): Promise<void> {
  const [first] = rows;
  if (first === undefined) return;
  const keys = rows.map(({ row }) => row.sourceKey);
  const acknowledged = await acknowledgedRecords(tx, first.row.entity, keys);
  for (const one of rows) one.acknowledged = acknowledged.get(one.row.sourceKey) ?? null;
}
