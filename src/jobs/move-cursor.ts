import type { Entity } from '../model/entity.js';
import { type CaptureCursor, readCursor, writeCursor } from '../store/cursors.js';
import { assertEpoch, type Lease } from '../store/lease.js';
import type { JobContext } from './job-context.js';
import { killPoint } from './kill-point.js';

/** Puts on record how far a sweep has come. @param before what the cursor was when it began. @throws LeaseLost */
export async function moveCursor(
  { store }: JobContext,
  lease: Lease | null,
  entity: Entity,
  before: CaptureCursor,
  reached: { changedAt: string | null; sweptAt: number },
): Promise<void> {
  await store.transaction('move the cursor', async (tx) => {
    if (lease) await assertEpoch(tx, lease);
    // Somebody asked for another sweep while this one was under way: it may have passed the record by then.
    const isAskedFor = before.sweptAt !== null && (await readCursor(tx, entity)).sweptAt === null;
    await writeCursor(tx, entity, isAskedFor ? { changedAt: reached.changedAt } : reached);
    killPoint('before-cursor-commit');
  });
  killPoint('after-cursor-commit');
}
