import { appendAudit } from '../audit/audit-log.js';
import type { WorkFact } from '../model/facts/work.js';
import type { JobContext } from '../ops/job-context.js';
import {
  allowStandby,
  goLiveProblem,
  type LiveIdentity,
  liveIdentity,
  readGoLive,
  writeGoLive,
} from '../outbound/deliver/go-live.js';
import { recoveryProblem } from '../outbound/recovery/store-witness.js';
import { readStoreInfo } from '../store/store-info.js';

export type LiveState = Awaited<ReturnType<typeof readLiveState>>;

/** Tells if this store may deliver to its service. */
export async function readLiveState({ store, settings }: JobContext, erpIdentity: string) {
  return store.read('read go-live', async (tx) => ({
    /** The agreement that would allow the store to deliver. */
    identity: liveIdentity(settings, erpIdentity),
    /** The last go-live, or null. */
    before: await readGoLive(tx),
    /** Why the store may not deliver, or null. */
    problem: await goLiveProblem(tx, settings, erpIdentity),
    /** The next requests are unknown until `waybill recover` has found out which ones were sent. */
    needsRecovery: (await recoveryProblem(tx)) !== null,
    /**
     * The store never was live, and no recovery has told it what another one sent: it may have taken the place of one that was
     * lost together with its witness. Only a person knows.
     */
    isNew: (await readGoLive(tx)) === null && (await readStoreInfo(tx, 'recovered_to')) === null,
  }));
}

/** Lets this store deliver to the service that `identity` names. */
export async function goLive(
  { store, actor, nowMs }: JobContext,
  identity: LiveIdentity,
  reason: string,
): Promise<void> {
  await store.transaction('go live', async (tx) => {
    const at = nowMs();
    await writeGoLive(tx, identity, actor, at);
    await appendAudit(tx, { event: 'go_live', outcome: 'operator', actor, detail: { ...identity, reason } }, at);
  });
}

/** Lets this machine take over from the one that is live. @returns why it may not, or null */
export async function standBy(
  { store, actor, nowMs }: JobContext,
  identity: LiveIdentity,
  reason: string,
): Promise<WorkFact | null> {
  return store.transaction('allow a standby', async (tx) => {
    const problem = await allowStandby(tx, identity);
    if (problem === null)
      await appendAudit(tx, { event: 'go_live', outcome: 'standby', actor, detail: { ...identity, reason } }, nowMs());
    return problem;
  });
}
