import type { Fact } from '../../model/facts/fact.js';

/** The longest sleep of the loop before it looks again: new captures, pauses and resumes come from other processes. */
const pollMs = 500;
export const maxIdleMs = 10_000;
/** Poll interval while due messages are blocked. */
const idlePollMs = 2_000;
/** The interval at which it looks for news while a backlog is under way, and for its turn to probe. */
const newsPollMs = 100;

/** All facts that the next step of a turn depends on, as they are now. */
export interface Snapshot {
  /** Ends when nothing is due any more (`sync`); otherwise it goes on until it is stopped (`daemon`). */
  untilDrained: boolean;
  /** With untilDrained: how long it waits for a message whose next try lies in the future. */
  retryHorizonMs: number;
  /** Why it is no use to go on, or null. */
  stuck: Fact | null;
  /** Why the gate lets nothing go, and for how long; infinity: until a person ends it. */
  blocked: { reason: Fact; forMs: number } | null;
  /** The clock was set since it was last followed. */
  isClockSet: boolean;
  /** The lease leaves the time for a request. */
  mayStartRequest: boolean;
  /** This node of a cluster sends nothing, while others may. */
  isAtRest: boolean;
  /** A limit that is used up asks for a longer wait than a request may have. */
  isLimitUsedUp: boolean;
  /** The service is down: one request at a time goes to see whether it is back. */
  isProbing: boolean;
  /** Requests under way; those of the backlog among them; and those that have ended without an outcome on record. */
  underWay: number;
  patient: number;
  unsettled: number;
  /** The number of messages that should be claimed; that may be claimed without an outcome on record; and in one claim. */
  target: number;
  most: number;
  atOnce: number;
  sinceClaimedMs: number;
  /** The store was looked through, and nothing has come due since. */
  isNothingDue: boolean;
  /** The time since it began to look for messages to send. */
  lookedForMs: number;
}

/** The answers that delivery has got in this turn; absent: it has not asked yet. */
export interface Findings {
  /** Another node needs this one's places. */
  lacksPlace?: boolean;
  /** The limit is waited for by a pause of the lane. */
  isPausedForLimit?: boolean;
  /** All outcomes so far are on record. */
  isFlushed?: boolean;
  /** It is this process's turn to probe. */
  hasProbeTurn?: boolean;
  /** Requests that were begun, keys that were parked as forgotten, and look-ups that were begun. */
  begun?: number;
  parked?: number;
  lookUps?: number;
  /** The time until the next message or look-up is due; infinity: there is none. */
  dueInMs?: number;
  /** Why the gate lets nothing go until a person acts, once the last outcome is on record; null: it does. */
  stopped?: Fact | null;
}

/** A step of delivery. The first four end the turn; each other one adds a finding, and the turn goes on. */
export type Step =
  | { do: 'end'; why: 'drained' | Fact }
  /**
   * Until so much time has passed, or no more than `count` are under way, or `all` with those that are not on record. `pausedForMs`:
   * nothing may leave for so long.
   */
  | { do: 'wait'; ms: number; count?: number; all?: number; pausedForMs?: number }
  | { do: 'next_turn' }
  /** As long as nothing is due; what was looked through in vain is left alone for `idleMs`. */
  | { do: 'rest'; idleMs: number }
  /** Puts all outcomes so far on record. */
  | { do: 'flush'; endsTurn?: true }
  | { do: 'ask_for_place' }
  | { do: 'pause_for_limit' }
  | { do: 'ask_for_probe_turn' }
  | { do: 'claim_probe' }
  | { do: 'claim'; room: number; backlogRoom: number; target: number }
  | { do: 'park_forgotten' }
  | { do: 'look_up' }
  | { do: 'ask_when_due' }
  | { do: 'ask_gate' };

const nextTurn: Step = { do: 'next_turn' };

/**
 * The next step of delivery. Pure.
 * @param now the facts at this moment
 * @param found the answers that this turn has got
 */
export function nextStep(now: Snapshot, found: Findings): Step {
  if (now.stuck) return { do: 'end', why: now.stuck };
  if (now.blocked) return whileBlocked(now, now.blocked, found);
  return beforeClaim(now, found) ?? claimOrRest(now, found);
}

function whileBlocked(now: Snapshot, { reason, forMs }: NonNullable<Snapshot['blocked']>, found: Findings): Step {
  if (now.underWay > 0) return { do: 'wait', ms: pollMs, count: 0 };
  if (!found.isFlushed) return { do: 'flush' };
  if (found.parked !== undefined) return nextTurn;
  // The pause may be one of a clock that was wrong; it ends where that is noticed.
  if (now.isClockSet) return { do: 'park_forgotten' };
  if (now.untilDrained && forMs > now.retryHorizonMs) return { do: 'end', why: reason };
  return { do: 'wait', ms: atMostAPoll(forMs), pausedForMs: forMs };
}

/** The step that has to come before a claim; null: none does. */
function beforeClaim(now: Snapshot, found: Findings): Step | null {
  // A message that is claimed now could not leave, and would be given back at once. On a full or broken disk that lasts.
  if (!now.mayStartRequest) return { do: 'wait', ms: idlePollMs };
  if (now.isAtRest) return { do: 'wait', ms: pollMs, count: 0 };
  if (found.lacksPlace === undefined) return { do: 'ask_for_place' };
  if (found.lacksPlace) return { do: 'wait', ms: pollMs, count: 0 };
  if (found.isPausedForLimit) return nextTurn;
  if (now.isLimitUsedUp && found.isPausedForLimit === undefined)
    // A request that has a slot already may still be at the gate: a pause would take its turn away.
    return now.underWay > 0 ? { do: 'wait', ms: pollMs, count: 0 } : { do: 'pause_for_limit' };
  if (found.begun !== undefined) return null;
  if (!now.isProbing) return untilThereIsRoom(now);
  // The findings of the last probe are heeded first; but none waits for one that hangs.
  if (!found.isFlushed) return { do: 'flush' };
  if (found.hasProbeTurn === undefined) return { do: 'ask_for_probe_turn' };
  return found.hasProbeTurn ? null : { do: 'wait', ms: newsPollMs };
}

function untilThereIsRoom({ target, most, underWay, patient, sinceClaimedMs, ...now }: Snapshot): Step | null {
  // Half a batch at least, so that claims are few and the pipeline never runs dry.
  if (underWay > target / 2) return { do: 'wait', ms: pollMs, count: Math.floor(target / 2) };
  if (roomOf({ target, most, underWay, ...now }) < target / 4)
    return { do: 'wait', ms: pollMs, count: -1, all: Math.floor(most - target / 4) };
  // While a backlog is under way, only news is worth a look.
  const earlyMs = newsPollMs - sinceClaimedMs;
  if (patient > target / 4 && earlyMs > 0) return { do: 'wait', ms: earlyMs, count: Math.floor(underWay / 2) };
  return null;
}

/** A kill makes doubtful what has ended and is not on record yet, too. */
function roomOf({ target, most, underWay, unsettled }: Pick<Snapshot, 'target' | 'most' | 'underWay' | 'unsettled'>) {
  return Math.min(target - underWay, most - underWay - unsettled);
}

function claimOrRest(now: Snapshot, found: Findings): Step {
  if (found.begun === undefined && !now.isNothingDue) {
    if (now.isProbing) return { do: 'claim_probe' };
    const { target, patient } = now;
    // Half of what is under way at most, so that there is always room for news.
    const backlogRoom = Math.max(0, Math.floor(target / 2) - patient);
    return { do: 'claim', room: Math.min(roomOf(now), now.atOnce), backlogRoom, target };
  }
  if ((found.begun ?? 0) > 0) return nextTurn;
  // Messages that end may make others ready: customers their orders.
  if (now.underWay > 0) return { do: 'wait', ms: newsPollMs, count: Math.floor(now.underWay / 2) };
  if (now.unsettled > 0) return { do: 'flush', endsTurn: true };
  return whenNothingBegan(now, found);
}

/** The end of a turn that began no request: look for other work, rest, or end. */
function whenNothingBegan(now: Snapshot, found: Findings): Step {
  if (found.parked === undefined) return { do: 'park_forgotten' };
  if (found.parked > 0) return nextTurn;
  if (found.lookUps === undefined && !now.isProbing && !now.isNothingDue) return { do: 'look_up' };
  if ((found.lookUps ?? 0) > 0) return nextTurn;
  if (!now.untilDrained) {
    // With a hundred thousand orders behind one parked customer even looking is work: rest ten times as long.
    const idleMs = Math.min(maxIdleMs, Math.max(idlePollMs, 10 * now.lookedForMs));
    return { do: 'rest', idleMs: now.isNothingDue ? 0 : idleMs };
  }
  if (found.dueInMs === undefined) return { do: 'ask_when_due' };
  if (found.dueInMs <= now.retryHorizonMs) return { do: 'wait', ms: atMostAPoll(found.dueInMs) };
  // The last outcome may have stopped the lane until a person looks.
  if (found.stopped === undefined) return { do: 'ask_gate' };
  return { do: 'end', why: found.stopped ?? 'drained' };
}

function atMostAPoll(ms: number): number {
  return Math.min(Math.max(ms, 1), pollMs);
}
