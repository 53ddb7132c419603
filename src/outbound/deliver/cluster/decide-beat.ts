import type { Fact } from '../../../model/facts/fact.js';
import type { RateLimit } from '../../../service/rate-limit/sliding-slots.js';
import { msLeft, type NodeRow } from '../../../store/lease-rows.js';
import { isAble, isHeld, isOfAll, isWorking, nextLeader, type Share, shareOf } from '../../../store/nodes.js';
import { clockLead, isClockUnfit } from './node-clock.js';
import type { NodeWay } from './node-way.js';
import type { ClusterView } from './take-places.js';

/** The facts that a node knows of itself. */
export interface OwnFacts {
  /** Its wall clock right before and right after it read the store's. */
  clock: { beforeMs: number; afterMs: number };
  limits: readonly Pick<RateLimit, 'windowMs'>[];
  trouble: NodeWay['trouble'];
  /** One request may go to see whether the trouble is over. */
  mayTry: boolean;
  cannotLead: Fact | null;
}

/** The facts that a node reads under the lock of the cluster. */
export interface ClusterFacts {
  me: NodeRow;
  /** All nodes at work, this one among them, in the order of their names. */
  alive: readonly NodeRow[];
  /** The epoch of the node that leads, or that led and is gone; null: none ever did. */
  leader: number | null;
}

/** A node's part in the cluster until its next beat. */
export interface Decision {
  part: ClusterView['part'];
  /** The node as its row shows it. */
  told: Required<Pick<Share, 'clockLeadMs' | 'rests' | 'cannotSend' | 'tries' | 'cannotLead'>>;
  /** All nodes have met this on their way to the service, so that it is paused for all. */
  pause: NodeWay['trouble'];
  /** Leads from now on; null: nothing changes, or the change is another node's to make. */
  newLeader: NodeRow | null;
  leads: boolean;
  /** The nodes that send, and the place of this one among them. */
  nodes: number;
  rank: number;
}

/**
 * The nodes that this one may end: their time is over by the store's clock, or their processes are known to have ended.
 * Pure.
 * @param ended the epochs of such processes
 */
export function overNodes(me: NodeRow, nodes: readonly NodeRow[], ended: ReadonlySet<number>): NodeRow[] {
  return nodes.filter((one) => one !== me && isHeld(one) && (msLeft(one) <= 0 || ended.has(one.epoch)));
}

/** Decides what a node does until its next beat, from its own facts and from the rows of the others. Pure. */
export function decideBeat(own: OwnFacts, { me, alive, leader }: ClusterFacts): Decision {
  const clockLeadMs = clockLead(own.clock.beforeMs, me.now, own.clock.afterMs);
  const { part, rests, cannotSend } = partOf(own, isClockUnfit(clockLeadMs, own.limits));
  const { cannotLead } = own;
  const others = alive.filter((row) => row !== me).map((row) => shareOf(row) ?? {});
  const isEverywhere = part === 'rests' && own.trouble !== null && isOfAll(own.trouble.cause, others);
  const able = alive.map((row) => ({
    row,
    epoch: row.epoch,
    isAble: isAble(row === me ? { rests, cannotLead } : (shareOf(row) ?? {})),
  }));
  const next = nextLeader(able, leader)?.row ?? me;
  const isLed = alive.some(({ epoch }) => epoch === leader);
  // The node that leads hands the lead on by itself: otherwise two would capture for a moment.
  const isMine = isLed ? leader === me.epoch : next === me;
  const newLeader = next.epoch !== leader && isMine ? next : null;
  const working = alive.filter((row) => (row === me ? rests === null : isWorking(row)));
  return {
    part,
    told: { clockLeadMs, rests, cannotSend, tries: part === 'tries', cannotLead },
    pause: isEverywhere ? own.trouble : null,
    newLeader,
    leads: (newLeader?.epoch ?? leader) === me.epoch,
    nodes: Math.max(1, working.length),
    rank: Math.max(0, working.indexOf(me)),
  };
}

function partOf(
  { trouble, mayTry }: OwnFacts,
  hasUnfitClock: boolean,
): Pick<Decision, 'part'> & Pick<Decision['told'], 'rests' | 'cannotSend'> {
  if (hasUnfitClock) return { part: 'rests', rests: 'clock', cannotSend: null };
  if (trouble === null) return { part: 'works', rests: null, cannotSend: null };
  return { part: mayTry ? 'tries' : 'rests', rests: trouble.cause, cannotSend: trouble.reason };
}
