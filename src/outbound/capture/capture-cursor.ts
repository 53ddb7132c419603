import type { Entity } from '../../model/record.js';

import { killPoint } from '../../ops/kill-point.js';
import { beginSweep, isSweepAsked, writeCursor } from '../../store/cursors.js';
import type { Lease } from '../../store/lease.js';

/** Puts on record that a sweep begins, so that whoever asks for one from now on asks for another. @throws LeaseLost */
export async function startSweep(lease: Lease, entity: Entity): Promise<void> {
  await lease.write('begin a sweep', (tx) => beginSweep(tx, entity));
}

/** Puts on record that a sweep came to its end. @throws LeaseLost */
export async function moveCursor(
  lease: Lease,
  entity: Entity,
  reached: { changedAt: string | null; sweptAt: number },
): Promise<void> {
  await lease.write('move the cursor', async (tx) => {
    // Whoever asked for another one meanwhile is heard: this one may have passed the record by then.
    const isAsked = await isSweepAsked(tx, entity);
    await writeCursor(tx, entity, isAsked ? { changedAt: reached.changedAt } : reached);
    killPoint('before-cursor-commit');
  });
  killPoint('after-cursor-commit');
}
