import type { JobContext } from '../../ops/job-context.js';
import { Lease } from '../../store/lease.js';
import { distrustMarks, listWriteBack, saveWriteBack } from './write-back-marks.js';
import { sweepStart } from './write-back-source.js';

const leaseMs = 30_000;

/**
 * Has the next pass write everything back once more.
 * @returns who is writing at this moment, so that nothing was done, or null
 */
export async function writeAgain({ store, actor, clock }: JobContext): Promise<string | null> {
  const answer = await Lease.acquire(store, 'write-back', actor, leaseMs, clock);
  if (!answer.held) return answer.holder;
  try {
    await answer.lease.write('have everything written back again', async (tx) => {
      await distrustMarks(tx);
      for (const progress of await listWriteBack(tx))
        await saveWriteBack(tx, { ...progress, sweepAfter: sweepStart, nextTryAt: 0 });
    });
  } finally {
    await answer.lease.release();
  }
  return null;
}
