import { mostCounted } from '../operator/lists/browse.js';
import { holdsDelivery, type Standstill } from '../operator/read-standstill.js';
import { laneArguments } from '../store/lane-pauses.js';
import type { Reader } from '../words/sentence.js';
import { tellPause } from '../words/tell-pause.js';
import { tell } from '../words/words.js';

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

/** Why something stands still, for the head of every page. Pure. */
export function tellNotices({ pauses, holds, notLive, waiting }: Standstill, reader: Reader): Notice[] {
  const behind = waiting === null ? '' : ` ${waitingInWords(waiting)}`;
  return [
    ...pauses.map((pause) => ({
      text: `${tellPause(pause, reader)}. By ${pause.actor}.${holdsDelivery(pause) ? behind : ''}`,
      end: pause.until_at === null ? `waybill resume ${laneArguments(pause.lane)} --reason "…"` : null,
    })),
    ...holds.map(({ entity, source = '', reason }) => ({
      text: `All updates and removals of ${entity}s${source && ` of source ${source}`} are held: ${tell(reason, reader)}`,
      end: 'waybill confirm --dry-run',
    })),
    ...(notLive === null ? [] : [{ text: `Delivery is held: ${tell(notLive, reader)}.`, end: 'waybill go-live' }]),
  ];
}
