import type { Fact } from '../../../model/facts/fact.js';
import type { LanePause } from '../../../store/lane-pauses.js';
import type { WayCause } from '../../../store/nodes.js';
import { isAnswered, type LaneEffects, type LaneOutcome } from '../lane-effects.js';

/** After so long in which nothing was there to try with, the node works again. */
const untriedMs = 600_000;

type Pauses = readonly Pick<LanePause, 'lane' | 'cause' | 'reason'>[];

/** Pauses that tell of the way of one process to the service: its network, and its credential. */
function wayOf({ lane, cause }: Pick<LanePause, 'lane' | 'cause'>): WayCause | null {
  return lane === 'service' && (cause === 'outage' || cause === 'credential') ? cause : null;
}

/**
 * A node's own way to the service. While other nodes are there, a refused credential or an outage is this node's alone: it rests,
 * and tries by itself whether that is over.
 */
export class NodeWay {
  /** No other node is there, so that whatever this one meets is the service's. */
  isAlone = true;
  #trouble: { cause: WayCause; reason: Fact; sinceMs: number } | null = null;
  /** A time of the monotonic clock. */
  #triesAtMs = Number.POSITIVE_INFINITY;
  /** The pause that all nodes have for the same cause was on record. */
  #wasPaused = false;

  constructor(private readonly probeMs: number) {}

  /** Why this node rests, or null. */
  get trouble(): Readonly<{ cause: WayCause; reason: Fact; sinceMs: number }> | null {
    return this.#trouble;
  }

  /** True if one request may go to see whether it is over. */
  mayTry(monotonicMs: number): boolean {
    return this.#trouble !== null && monotonicMs >= this.#triesAtMs;
  }

  tryNow(): void {
    if (this.#trouble) this.#triesAtMs = Number.NEGATIVE_INFINITY;
  }

  /** The pauses that all nodes get. What this node alone has met is none, unless it is on record already. */
  forAll<Pause extends Pick<LanePause, 'lane' | 'cause'>>(pauses: readonly Pause[], onRecord: Pauses): Pause[] {
    const isOnRecord = ({ lane, cause }: Pause) => onRecord.some((one) => one.lane === lane && one.cause === cause);
    return this.isAlone ? [...pauses] : pauses.filter((pause) => wayOf(pause) === null || isOnRecord(pause));
  }

  /** Heeds what the service answered this node, once it is on record. */
  heed({ pauses }: Pick<LaneEffects, 'pauses'>, outcomes: readonly LaneOutcome[], atMs: number, monotonicMs: number) {
    if (this.isAlone) {
      this.#trouble = null;
      return;
    }
    const met = pauses.filter((pause) => wayOf(pause) !== null);
    const pause = met.find(({ cause }) => cause === 'credential') ?? met[0];
    const since = this.#trouble?.sinceMs ?? atMs;
    if (pause) {
      const cause = wayOf(pause) as WayCause;
      this.#trouble = { cause, reason: pause.reason, sinceMs: since };
      // A credential that was refused is not shown again: accounts get locked.
      this.#triesAtMs = cause === 'outage' ? monotonicMs + this.probeMs : Number.POSITIVE_INFINITY;
    } else if (outcomes.some((one) => isAnswered(one) && (one.sentAtMs as number) >= since)) this.#trouble = null;
  }

  /** Tries at once when a pause that all nodes had is over: a person, or an answer to another node, has ended it. */
  heedPauses(pauses: Pauses): void {
    const cause = this.#trouble?.cause;
    const isPaused = pauses.some((pause) => wayOf(pause) === cause);
    // One that another node ended for its new credential says nothing of this one's.
    const isForOther = pauses.some(({ reason }) => reason.code === 'credential_perhaps_new');
    if (this.#wasPaused && !isPaused && !isForOther) this.tryNow();
    this.#wasPaused = isPaused;
  }

  /** Ends what could not be tried for long, because other nodes sent everything. */
  forget(monotonicMs: number): void {
    if (this.#trouble?.cause === 'outage' && monotonicMs - this.#triesAtMs > untriedMs) this.#trouble = null;
  }
}
