/**
 * The shares of a cluster's nodes in one limit. A limit of so many requests is so many places; each is one node's at a
 * time, and goes to another only when no request that used it counts at the service any more. Whatever the nodes do and
 * however late they do it, in sum they hold no more places than the limit has requests.
 */

/** The facts about a node when places are handed out. */
export interface Taker {
  name: string;
  /** The number of places it could use. */
  demand: number;
}

/** An idle node keeps one place in so many of its fair part, so that it can begin at once. */
const idlePart = 4;

/**
 * The number of places each node should have. Pure, and the same on every node. Each gets what it could use, as far as
 * that is fair; what is left over goes to those that could use more, and of the rest an idle node keeps a few.
 * @param turn where there are fewer places than nodes, each has its turn
 */
export function fairPlaces(places: number, takers: readonly Taker[], turn: number): Map<string, number> {
  const count = takers.length;
  const inOrder = [...takers].sort((a, b) => (a.name < b.name ? -1 : 1));
  const rank = new Map(inOrder.map(({ name }, nth) => [name, (nth + (places < count ? turn : 0)) % count]));
  const wants = inOrder
    .map(({ name, demand }) => ({ name, want: Math.min(Math.max(demand, 1), places) }))
    .sort((a, b) => a.want - b.want || (rank.get(a.name) as number) - (rank.get(b.name) as number));
  const fair = new Map<string, number>();
  let left = places;
  for (const [nth, { name, want }] of wants.entries()) {
    const given = Math.min(want, Math.floor(left / (count - nth)));
    fair.set(name, given);
    left -= given;
  }
  const spare = Math.min(Math.floor(left / count), Math.floor(places / count / idlePart));
  for (const [name, given] of fair) fair.set(name, given + spare);
  return fair;
}

/**
 * A node's step about one limit, in the transaction in which no other node changes its places. Pure.
 * @param requests the limit
 * @param held what all others hold, and what still rests after nodes that are gone
 * @param mine what its row says that it holds
 * @param fair what it should have
 * @param inUse requests of it that are under way, or that the service still counts
 * @returns `use`: how many it uses from now on, or from the commit on where that is more; `hold`: what its row says next
 */
export function nextPlaces(requests: number, held: number, mine: number, fair: number, inUse: number) {
  if (fair <= mine) return { use: fair, hold: Math.min(mine, Math.max(fair, inUse)) };
  const hold = mine + Math.max(0, Math.min(fair - mine, requests - held - mine));
  return { use: hold, hold };
}
