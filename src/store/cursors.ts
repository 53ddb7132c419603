import type { Entity } from '../model/entity.js';
import { upsertRows } from './rows.js';
import type { Tx } from './store.js';

export interface CaptureCursor {
  /** The change cursor as the ERP wrote it; null before the first pass. */
  changedAt: string | null;
  /** When everything eligible was read for the last time; null: never. */
  sweptAt: number | null;
}

export async function readCursor(tx: Tx, entity: Entity): Promise<CaptureCursor> {
  const [row] = await tx.select('SELECT changed_at, swept_at FROM capture_cursor WHERE name=?', [entity]);
  return { changedAt: row?.changed_at ?? null, sweptAt: row?.swept_at ?? null };
}

export async function writeCursor(tx: Tx, entity: Entity, cursor: CaptureCursor): Promise<void> {
  await upsertRows(
    tx,
    'capture_cursor',
    ['name'],
    [{ name: entity, changed_at: cursor.changedAt, swept_at: cursor.sweptAt }],
  );
}
