import type { Settings } from '../config/settings.js';
import { goLiveProblem } from '../outbound/deliver/go-live.js';
import { QuietClock } from '../outbound/deliver/quiet-hours.js';
import { readBrakes } from '../store/job-runs.js';
import { laneArguments, listPauses } from '../store/lane-pauses.js';
import type { Tx } from '../store/store.js';
import { tellPause } from '../words/tell-pause.js';
import { tell } from '../words/words.js';
import { countUpTo, mostCounted } from './lists/browse.js';

/** The holds on the work now. `end`: the command that a person may end it with; null: it ends by itself. */
export interface Notice {
  text: string;
  end: string | null;
}

/** The cause of a pause, and its end. */
function waitingInWords(count: number): string {
  if (count === 0) return 'Nothing waits behind it.';
  const many = count === 1 ? '1 message waits' : `${count}${count >= mostCounted ? ' or more' : ''} messages wait`;
  return `${many} behind it, and ${count === 1 ? 'goes' : 'go'} out when it ends, within the limit.`;
}

const holdsDelivery = ({ lane }: { lane: string }) => lane === 'deliver' || lane === 'service';

/** Why something stands still: pauses, brakes, and that nothing may be delivered yet. A few rows, for the head of every page. */
export async function readNotices(
  tx: Tx,
  settings: Settings,
  { erpIdentity, nowMs, time }: { erpIdentity: string; nowMs: number; time: (ms: number) => string },
): Promise<Notice[]> {
  const pauses = [...(await listPauses(tx)), ...new QuietClock(settings.schedule).pauses(nowMs)];
  const notLive = await goLiveProblem(tx, settings, erpIdentity);
  const holding = pauses.filter(({ cause, until_at }) => cause === 'outage' || until_at === null || until_at > nowMs);
  const waiting = holding.some(holdsDelivery) ? await countUpTo(tx, { states: ['pending', 'in_doubt'] }) : null;
  const behind = waiting === null ? '' : ` ${waitingInWords(waiting)}`;
  return [
    ...holding.map((pause) => ({
      text: `${tellPause(pause, { time })}. By ${pause.actor}.${holdsDelivery(pause) ? behind : ''}`,
      end: pause.until_at === null ? `waybill resume ${laneArguments(pause.lane)} --reason "…"` : null,
    })),
    ...(await readBrakes(tx)).map(({ entity, source = '', reason }) => ({
      text: `All updates and removals of ${entity}s${source && ` of source ${source}`} are held: ${tell(reason, { time })}`,
      end: 'waybill confirm --dry-run',
    })),
    ...(notLive === null ? [] : [{ text: `Delivery is held: ${tell(notLive, { time })}.`, end: 'waybill go-live' }]),
  ];
}
