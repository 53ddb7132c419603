import { fairPlaces, nextPlaces } from '../../../service/rate-limit/fair-places.js';
import type { LimitShare } from '../../../service/rate-limit/limit-share.js';
import type { RateLimit } from '../../../service/rate-limit/sliding-slots.js';
import type { LeaseRow, NodeRow } from '../../../store/lease-rows.js';
import { isWorking, type Share, shareOf } from '../../../store/nodes.js';

/** The interval at which places go round if there are fewer places than nodes. */
const turnMs = 10_000;

/** The facts that a node sees when it has the lock of the cluster. */
export interface ClusterView {
  me: NodeRow;
  /** All nodes at work, this one among them. */
  alive: readonly NodeRow[];
  /** Nodes that are gone, and the deliverer that shared the store with none. */
  gone: readonly (NodeRow | LeaseRow)[];
  /** This node sends nothing and gives its places up, or asks for one to try whether it may go on. */
  part: 'rests' | 'tries' | 'works';
  /** The places that this node could use, by limit. */
  demand: number[];
  /** See `comparedSettings`. */
  limits: string;
  /** The requests of no node at work that each limit still counts; null: it is short, and they rest in their places. */
  counted: readonly (number | null)[];
}

/**
 * The next row of this node about the limits, and its share once that is committed. If that is less than now, it uses
 * less from here on.
 */
export function takePlaces(mine: LimitShare, view: ClusterView): { share: Share; use: number[] } {
  const { me, alive, gone, demand, limits } = view;
  const takers = alive.filter((row) => (row === me ? view.part !== 'rests' : isWorking(row) || shareOf(row)?.tries));
  const placesOf = (row: NodeRow, nth: number) => shareOf(row)?.places[nth] ?? 0;
  const resting = mine.limits.map((limit, nth) => view.counted[nth] ?? restingPlaces(limit, nth, gone, limits));
  const fair = mine.limits.map(({ requests }, nth) => {
    const wants = takers.map((row) => ({
      name: row.name,
      demand: (row === me ? demand : shareOf(row)?.demand)?.[nth] ?? requests,
    }));
    const places = Math.max(0, requests - (resting[nth] ?? 0));
    return fairPlaces(places, wants, Math.floor(me.now / turnMs)).get(me.name) ?? 0;
  });
  const inUse = mine.shrinkTo(fair);
  const next = mine.limits.map(({ requests }, nth) => {
    const ofOthers = alive.reduce((sum, row) => sum + (row === me ? 0 : placesOf(row, nth)), resting[nth] ?? 0);
    return nextPlaces(requests, ofOthers, placesOf(me, nth), fair[nth] ?? 0, inUse[nth] ?? 0);
  });
  const share = { limits, places: next.map(({ hold }) => hold), demand, at: me.now };
  return { share, use: next.map(({ use }) => use) };
}

/** Places of a short limit that rest until all that was sent from them has left its window. A deliverer of its own had all. */
function restingPlaces(
  { requests, windowMs }: RateLimit,
  nth: number,
  gone: readonly (NodeRow | LeaseRow)[],
  limits: string,
): number {
  // One that was ended just now still has its holder.
  const isResting = ({ holder, releasedAt, now }: LeaseRow) =>
    holder !== null || (releasedAt !== null && releasedAt + windowMs > now);
  return gone.filter(isResting).reduce((sum, row) => {
    const share = 'share' in row ? shareOf(row) : null;
    return sum + (share?.limits === limits ? (share.places[nth] ?? 0) : requests);
  }, 0);
}
