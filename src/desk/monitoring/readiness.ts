import type { JobContext } from '../../ops/job-context.js';
import { listPauses } from '../../store/lane-pauses.js';
import { readLease } from '../../store/lease.js';
import { viewNodes } from '../../store/nodes.js';

/** Why it is not ready, in words of ours alone: this is told to anyone who asks. */
export type Unready = 'store' | 'no deliverer' | 'credential' | 'misconfigured';

/** Tells if this daemon can do its work now. A pause by a person, a limit and an outage of the service need no restart. */
export async function readiness({ store }: Pick<JobContext, 'store'>): Promise<Unready[]> {
  try {
    return await store.read('look whether all is ready', async (tx) => {
      const { holder } = await readLease(tx, 'service');
      const isDelivered = holder !== null || (await viewNodes(tx)).some(({ state }) => state === 'at work');
      const causes = new Set((await listPauses(tx)).map(({ cause }) => cause));
      return [
        ...(isDelivered ? [] : (['no deliverer'] as const)),
        ...(['credential', 'misconfigured'] as const).filter((cause) => causes.has(cause)),
      ];
    });
  } catch {
    return ['store'];
  }
}
