import type { MachineClock } from '../../store/clock.js';

/** A message that is due. */
export interface DueMessage {
  id: number;
  /** How many attempts it has had. */
  attempts: number;
}

/** A message that this node should claim next. */
export interface DueClaim extends DueMessage {
  /** Goes before whatever of the backlog still waits for its slot. */
  isUrgent: boolean;
}

/** How much a node can take on. */
export interface Space {
  room: number;
  /** Of that, how many of the backlog that let everything else pass. */
  backlogRoom: number;
  /** How many messages leave this node in about a second. */
  perSecond: number;
}

/**
 * What the store holds due, in the order of sending: at most so many that are news, and so many of the backlog. `isForAll`: it is
 * listed for all nodes; otherwise a node's own part comes first.
 */
export type ListDue = (
  most: number,
  mostOfBacklog: number,
  isForAll?: boolean,
) => Promise<{ news: DueMessage[]; backlog: DueMessage[] }>;

/**
 * Says which messages a node should claim next. It decides nothing: the claim in the store does, and a claim of a message that is
 * not due any more, or that another node has, gives nothing. So a dispatcher may name a message twice, or too late.
 */
export interface Dispatcher {
  next(space: Space, listDue: ListDue): Promise<DueClaim[]>;
  /** What `next` named last is claimed, or will not be. @param count of it were claimed */
  claimed(count: number): void;
  /** The service told this node to slow down: the others had better not wait until they are told, too. */
  slowDown(forMs: number): void;
  close(): Promise<void>;
}

/** So many times what it names is listed at once: to look takes longest where many rows before it have just been claimed. */
const listedAhead = 3;
/** For so long a list counts; what comes meanwhile waits. */
const listedForMs = 150;

/** The dispatcher `local`: asks the store. */
export class StoreDispatcher implements Dispatcher {
  #newsSinceTurn = 0;
  #listed: Awaited<ReturnType<ListDue>> = { news: [], backlog: [] };
  #listedAtMs = Number.NEGATIVE_INFINITY;

  constructor(private readonly clock: Pick<MachineClock, 'monotonicMs'>) {}

  async next({ room, backlogRoom }: Space, listDue: ListDue): Promise<DueClaim[]> {
    const left = this.#listed;
    const isEnough = left.news.length + Math.min(left.backlog.length, backlogRoom) >= room;
    if (!isEnough || this.clock.monotonicMs() - this.#listedAtMs > listedForMs) {
      const most = Math.min(room, Math.max(backlogRoom, Math.ceil(room / backlogTurn)));
      this.#listed = await listDue(room * listedAhead, most * listedAhead);
      this.#listedAtMs = this.clock.monotonicMs();
    }
    const { news, backlog } = this.#listed;
    const { claims, newsSinceTurn } = orderClaims(news, backlog, room, backlogRoom, this.#newsSinceTurn);
    this.#newsSinceTurn = newsSinceTurn;
    const named = new Set(claims.map(({ id }) => id));
    const isLeft = ({ id }: DueMessage) => !named.has(id);
    this.#listed = { news: news.filter(isLeft), backlog: backlog.filter(isLeft) };
    return claims;
  }

  claimed(count: number): void {
    // Others have claimed what was listed, or it is not due any more.
    if (count === 0) this.#listed = { news: [], backlog: [] };
  }

  slowDown(): void {}

  async close(): Promise<void> {}
}

/** Of so many messages one is of the backlog, as long as there is one. */
export const backlogTurn = 10;

/**
 * What goes next: news first, and in every tenth place one of the backlog, which goes then as if it were news, so that it still
 * moves however much is new. What is left of the room is filled with the backlog, which lets pass all that comes meanwhile. Pure.
 * @param news what is due, in its order
 * @param backlog the same of the backlog
 * @param newsSinceTurn as the last call returned it: messages of news since the backlog had its turn
 * @returns claims in the order of sending
 */
export function orderClaims(
  news: readonly DueMessage[],
  backlog: readonly DueMessage[],
  room: number,
  backlogRoom: number,
  newsSinceTurn: number,
): { claims: DueClaim[]; newsSinceTurn: number } {
  const claims: DueClaim[] = [];
  let since = newsSinceTurn;
  let taken = 0;
  for (const message of news) {
    if (since >= backlogTurn - 1 && taken < backlog.length && claims.length < room) {
      claims.push({ ...(backlog[taken++] as DueMessage), isUrgent: true });
      since = 0;
    }
    if (claims.length >= room) break;
    claims.push({ ...message, isUrgent: true });
    since = Math.min(since + 1, backlogTurn - 1);
  }
  while (taken < backlog.length && taken < backlogRoom && claims.length < room)
    claims.push({ ...(backlog[taken++] as DueMessage), isUrgent: false });
  return { claims, newsSinceTurn: since };
}
