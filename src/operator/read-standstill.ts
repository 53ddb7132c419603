import type { Settings } from '../config/settings.js';
import { goLiveProblem } from '../outbound/deliver/go-live.js';
import { QuietClock } from '../outbound/deliver/quiet-hours.js';
import { readHolds } from '../store/job-runs.js';
import { listPauses } from '../store/lane-pauses.js';
import type { Tx } from '../store/store.js';
import { countUpTo } from './lists/browse.js';

export type Standstill = Awaited<ReturnType<typeof readStandstill>>;

export const holdsDelivery = ({ lane }: { lane: string }) => lane === 'deliver' || lane === 'service';

/** Everything that stands still: pauses, holds, and a delivery that may not begin yet. A few rows. */
export async function readStandstill(
  tx: Tx,
  settings: Settings,
  { erpIdentity, nowMs }: { erpIdentity: string; nowMs: number },
) {
  const all = [...(await listPauses(tx)), ...new QuietClock(settings.schedule).pauses(nowMs)];
  const pauses = all.filter(({ cause, until_at }) => cause === 'outage' || until_at === null || until_at > nowMs);
  return {
    pauses,
    holds: await readHolds(tx),
    notLive: await goLiveProblem(tx, settings, erpIdentity),
    /** Messages behind a pause of delivery; null: none holds it. */
    waiting: pauses.some(holdsDelivery) ? await countUpTo(tx, { states: ['pending', 'in_doubt'] }) : null,
  };
}
