import type { Entity } from '../model/record.js';
import { type Row, upsertRows } from './rows.js';
import type { Tx } from './store.js';

interface CaptureCursor {
  /** The change cursor as the ERP wrote it; null before the first pass. */
  changedAt: string | null;
  /** When everything eligible was read for the last time; null: never. */
  sweptAt: number | null;
}

export async function readCursor(tx: Tx, entity: Entity): Promise<CaptureCursor> {
  const [row] = await tx.rows<CaptureCursor>('SELECT changed_at, swept_at FROM capture_cursor WHERE name=?', [entity]);
  return { changedAt: row?.changedAt ?? null, sweptAt: row?.sweptAt || null };
}

/** `sweptAt` is left out by a pass that read only what changed. */
export async function writeCursor(
  tx: Tx,
  entity: Entity,
  { changedAt, sweptAt }: Pick<CaptureCursor, 'changedAt'> & Partial<CaptureCursor>,
): Promise<void> {
  const row: Row = { name: entity, changed_at: changedAt };
  if (sweptAt !== undefined) row.swept_at = sweptAt;
  await upsertRows(tx, 'capture_cursor', ['name'], [row]);
}

/** Stands for the time of a sweep under way. It stays due if it does not reach its end. */
const sweepUnderWay = 0;

/** Begins the sweep that was asked for; a request from now on asks for another one (`isSweepAsked`). */
export async function beginSweep(tx: Tx, entity: Entity): Promise<void> {
  const sweptAt = await tx.value<number | null>('SELECT swept_at FROM capture_cursor WHERE name=?', [entity]);
  if (sweptAt === null || sweptAt === undefined)
    await upsertRows(tx, 'capture_cursor', ['name'], [{ name: entity, swept_at: sweepUnderWay }]);
}

/** Whether a sweep was asked for after the one under way began. */
export async function isSweepAsked(tx: Tx, entity: Entity): Promise<boolean> {
  // The lock waits for a request that is being written at this moment.
  return (await tx.value(`SELECT swept_at FROM capture_cursor WHERE name=?${tx.forUpdate}`, [entity])) === null;
}

/** Makes the next pass read everything eligible, to compare what no change in the ERP announces. */
export async function sweepAtNextPass(tx: Tx, entity: Entity): Promise<void> {
  await tx.run('UPDATE capture_cursor SET swept_at=NULL WHERE name=?', [entity]);
}

/** Where a source ended when it was last read, and what was wrong with it. */
export interface SourceMarks {
  highChangedAt: string | null;
  highKey: string | null;
  /** Rows that the last sweep read; null: never swept. */
  sweptRows: number | null;
  /** `empty`, `drained` or `restored`; null: nothing is wrong. */
  brake: { cause: string; reason: string } | null;
}

export async function readMarks(tx: Tx, entity: Entity): Promise<SourceMarks> {
  const [row] = await tx.rows(
    'SELECT high_changed_at, high_key, swept_rows, brake, brake_reason FROM capture_cursor WHERE name=?',
    [entity],
  );
  if (!row) return { highChangedAt: null, highKey: null, sweptRows: null, brake: null };
  const { brake, brakeReason, ...marks } = row;
  return { ...marks, brake: brake === null ? null : { cause: brake, reason: brakeReason } };
}

export async function writeMarks(tx: Tx, entity: Entity, marks: SourceMarks): Promise<void> {
  const row = {
    name: entity,
    high_changed_at: marks.highChangedAt,
    high_key: marks.highKey,
    swept_rows: marks.sweptRows,
    brake: marks.brake?.cause ?? null,
    brake_reason: marks.brake?.reason ?? null,
  };
  await upsertRows(tx, 'capture_cursor', ['name'], [row]);
}

export async function readBrakes(tx: Tx): Promise<{ entity: Entity; reason: string }[]> {
  return tx.rows(
    'SELECT name AS entity, brake_reason AS reason FROM capture_cursor WHERE brake IS NOT NULL ORDER BY name',
  );
}

/**
 * A person looked: the source is right as it is. The next pass takes its marks anew, and reads all that was passed over while the
 * brake stood. @param shown the reason that the person saw: what came since is another question
 */
export async function clearBrake(tx: Tx, entity: Entity, shown: string): Promise<boolean> {
  const cleared = await tx.run(
    `UPDATE capture_cursor SET brake=NULL, brake_reason=NULL, high_changed_at=NULL, high_key=NULL, swept_rows=NULL,
            swept_at=NULL
      WHERE name=? AND brake IS NOT NULL AND brake_reason=?`,
    [entity, shown],
  );
  return cleared > 0;
}
