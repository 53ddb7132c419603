import type { JobContext } from '../../ops/job-context.js';
import { listPauses } from '../../store/lane-pauses.js';
import { readLease } from '../../store/lease.js';
import { type RestCause, viewNodes } from '../../store/nodes.js';

/** Why it is not ready, in words of ours alone: this is told to anyone who asks. */
export type Unready = 'store' | 'no deliverer' | 'credential' | 'misconfigured' | `node ${RestCause | 'standby'}`;

/** Tells if this daemon can do its work now. A pause by a person, a limit and an outage of the service need no restart. */
export async function readiness({ store, actor }: Pick<JobContext, 'store' | 'actor'>): Promise<Unready[]> {
  try {
    return await store.read('look whether all is ready', async (tx) => {
      const { holder } = await readLease(tx, 'service');
      const nodes = await viewNodes(tx);
      const isDelivered = holder !== null || nodes.some(({ state }) => state === 'at work');
      const causes = new Set<string>((await listPauses(tx)).map(({ cause }) => cause));
      const { rests = null, standsBy = null } = nodes.find((node) => node.holder === actor) ?? {};
      return [
        ...(isDelivered ? [] : (['no deliverer'] as const)),
        ...(['credential', 'misconfigured'] as const).filter((cause) => causes.has(cause)),
        // Paused for the same cause, the service is what is wrong, and not this node.
        ...(rests !== null && !causes.has(rests) ? ([`node ${rests}`] as const) : []),
        // One that waits for its own last requests joins in a moment.
        ...(standsBy !== null && standsBy.code !== 'own_requests' ? (['node standby'] as const) : []),
      ];
    });
  } catch {
    return ['store'];
  }
}
