import type { Entity } from '../model/entity.js';
import { beginSweep } from '../store/cursors.js';
import { assertEpoch, type Lease } from '../store/lease.js';
import type { JobContext } from './job-context.js';

/** Puts on record that a sweep begins, so that whoever asks for one from now on asks for another. @throws LeaseLost */
export async function startSweep({ store }: JobContext, lease: Lease | null, entity: Entity): Promise<void> {
  await store.transaction('begin a sweep', async (tx) => {
    if (lease) await assertEpoch(tx, lease);
    await beginSweep(tx, entity);
  });
}
