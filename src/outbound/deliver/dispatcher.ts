/** A message that is due. */
export interface DueMessage {
  id: number;
  /** The number of its attempts. */
  attempts: number;
}

/** A message that this node should claim next. */
export interface DueClaim extends DueMessage {
  /** Goes before whatever of the backlog still waits for its slot. */
  isUrgent: boolean;
}

/** The number of messages that a node can take on. */
export interface Space {
  room: number;
  /** The part of them from the backlog that let everything else pass. */
  backlogRoom: number;
  /** The number of messages that leave this node in about a second. */
  perSecond: number;
}

/**
 * The messages that the store holds due, in the order of sending: at most so many that are news, and so many of the
 * backlog. `isForAll`: it is listed for all nodes; otherwise a node's own part comes first.
 */
export type ListDue = (
  most: number,
  mostOfBacklog: number,
  isForAll?: boolean,
) => Promise<{ news: DueMessage[]; backlog: DueMessage[] }>;

/**
 * Says which messages a node should claim next. It decides nothing: the claim in the store does, and a claim of a
 * message that is not due any more, or that another node has, gives nothing. A dispatcher may therefore name a message
 * twice, or too late.
 */
export interface Dispatcher {
  next(space: Space, listDue: ListDue): Promise<DueClaim[]>;
  /** The last messages of `next` are claimed, or will not be. @param count of it were claimed */
  claimed(count: number): void;
  /** The service told this node to slow down: the others had better not wait until they are told, too. */
  slowDown(forMs: number): void;
  close(): Promise<void>;
}
