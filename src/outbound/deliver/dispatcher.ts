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
