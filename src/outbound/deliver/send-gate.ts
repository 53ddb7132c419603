import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Fact } from '../../model/facts/fact.js';
import { outside } from '../../model/outside.js';
import type { JobContext } from '../../ops/job-context.js';
import { killPoint } from '../../ops/kill-point.js';
import type { Gate } from '../../service/wire/wire-exchange.js';
import { clockSetSince } from '../../store/clock.js';
import { activePauses, type Lane } from '../../store/lane-pauses.js';
import type { ClaimedMessage } from './claim-messages.js';
import { type Answer, GateAnswers, type GateState, oldAnswerMs } from './gate-state.js';
import { QuietClock } from './quiet-hours.js';
import type { ServiceLease } from './service-lease.js';

/**
 * Asked before every single request, so that an operator's `pause` in another process acts before it says that it is
 * done. The store's answer counts for a moment, unless something was claimed or a pause may have come since. Requests
 * that ask without such an answer share the one read that begins after it, one at a time.
 */
export class SendGate {
  readonly #answers: GateAnswers;
  readonly #quiet: QuietClock;
  #turnEnds: Promise<void> | null = null;
  #hasStopped = false;
  readonly #holds = new Set<Promise<void>>();

  /**
   * @param liveErp the ERP that has to be live before anything is written; null: reads and trials need no go-live
   * @param signal once it has aborted, nothing more is let go
   */
  constructor(
    private readonly context: JobContext,
    private readonly lease: ServiceLease,
    liveErp: string | null,
    private readonly signal?: AbortSignal,
  ) {
    this.#answers = new GateAnswers(context, lease, liveErp);
    this.#quiet = new QuietClock(context.settings.schedule);
  }

  /** From now on nothing more is let go. */
  stop(): void {
    this.#hasStopped = true;
  }

  get isStopped(): boolean {
    return this.#hasStopped || (this.signal?.aborted ?? false);
  }

  /** Nothing goes now, so that no request need wait for its slot: this is over, or this node rests. */
  isShut(isProbe: boolean): boolean {
    const { rests = false, tries = false } = this.lease.membership ?? {};
    return this.isStopped || (rests && !(isProbe && tries));
  }

  /** Nothing is let go before `recorded` ends: what the service said may pause the lane, once it is on record. */
  holdUntil(recorded: Promise<unknown>): void {
    const end = () => {
      this.#holds.delete(hold);
      this.forget();
    };
    const hold = recorded.then(end, end);
    this.#holds.add(hold);
  }

  /** From now on only what the store is asked after this counts. */
  forget(): void {
    this.#answers.forget();
  }

  /** The store's answer now, or of a moment ago (`answerCountsMs`). */
  async lately(): Promise<GateState> {
    return this.#answers.recent?.state ?? this.state();
  }

  /** The store's answer now. */
  async state(): Promise<GateState> {
    return (await this.#answers.ask()).state;
  }

  /**
   * The gate of a request of this lane. `isProbe`: it goes to see whether a service that is down is back.
   * @param key it may have waited for its turn, or been frozen, until its key is forgotten at the service
   */
  of(lane: Lane, isProbe = false, key: PassingKey | null = null): Gate {
    return new RequestGate(this, this.context, this.lease, { lane, isProbe, key });
  }

  /** null lets a request go now; a fact says why not. */
  async check(lane: Lane, isProbe = false, takesTurn = isProbe): Promise<Fact | null> {
    if (this.isStopped) return { code: 'stopping' };
    // The rate limiter starts the next request in the same turn in which the one before it ended: let that one be judged first.
    this.#turnEnds ??= nextTurn().then(() => {
      this.#turnEnds = null;
    });
    await this.#turnEnds;
    let state: GateState;
    try {
      state = await this.#stateThatCounts();
    } catch (error) {
      // It is unknown whether a person pressed pause: then nothing goes.
      return { code: 'gate_not_asked', message: outside((error as Error).message) };
    }
    // Asked again after the read: it may have taken its time.
    if (this.isStopped) return { code: 'stopping' };
    if (!state.isHeld) {
      this.lease.markLost();
      return { code: 'lease_lost' };
    }
    if (!this.lease.mayStartRequest()) return { code: 'lease_ending' };
    if (this.isShut(isProbe)) return { code: 'node_at_rest' };
    const outage = state.pauses.find(({ cause }) => cause === 'outage');
    // A request that was on its way when the breaker opened must not follow the probes.
    if (outage && !isProbe) return { code: 'outage', reason: outage.reason };
    const pauses = outage ? state.pauses.filter(({ cause }) => cause !== 'outage') : state.pauses;
    const blocked = this.blockedBy({ ...state, pauses }, lane);
    if (blocked) return blocked.reason;
    if (takesTurn && !this.lease.probeTurns.send(this.context.clock.monotonicMs())) return { code: 'probe_under_way' };
    return null;
  }

  /**
   * The store's answer to a request that asks now. A process that stood still before it took note of the answer has an
   * old one, and may have been paused since. The second answer counts however old: a store that is slow must not keep
   * everything waiting.
   */
  async #stateThatCounts(): Promise<GateState> {
    for (let isSecond = false; ; isSecond = true) {
      let answer: Answer;
      do {
        if (this.#holds.size > 0) await Promise.all(this.#holds);
        answer = this.#answers.recent ?? (await this.#answers.ask());
      } while (this.#holds.size > 0);
      if (isSecond || this.context.clock.monotonicMs() - answer.askedAtMs < oldAnswerMs) return answer.state;
    }
  }

  isQuiet(lane: Lane): boolean {
    return this.#quiet.isQuiet(lane, this.context.nowMs());
  }

  blockedBy(state: Pick<GateState, 'pauses' | 'notLive'>, lane: Lane): { reason: Fact; untilMs: number | null } | null {
    const now = this.context.nowMs();
    const quiet = this.#quiet.pauses(now);
    const hasAny = state.pauses.length + quiet.length > 0;
    const pause = hasAny ? activePauses([...state.pauses, ...quiet], lane, now)[0] : undefined;
    if (pause) {
      const { cause, reason, until_at: untilMs } = pause;
      return { reason: { code: 'lane_paused', lane: pause.lane, cause, reason }, untilMs };
    }
    if (lane === 'deliver' && state.notLive !== null) return { reason: state.notLive, untilMs: null };
    return null;
  }
}

type PassingKey = Pick<ClaimedMessage, 'keyGoodUntilMs' | 'wallLeadMs' | 'id'>;

/** One request on its way through the gate. */
class RequestGate implements Gate {
  private readonly lane: Lane;
  private readonly isProbe: boolean;
  private readonly key: PassingKey | null;

  constructor(
    private readonly gate: SendGate,
    private readonly context: JobContext,
    private readonly lease: ServiceLease,
    { lane, isProbe, key }: { lane: Lane; isProbe: boolean; key: PassingKey | null },
  ) {
    this.lane = lane;
    this.isProbe = isProbe;
    this.key = key;
  }

  async ask(): Promise<Fact | null> {
    // Before it takes the turn of a probe.
    if (this.#isLate()) return { code: 'key_expired' };
    if (this.#isClockSet()) return { code: 'clock_was_set' };
    const shut = await this.gate.check(this.lane, this.isProbe);
    if (shut === null) killPoint('before-send');
    return shut;
  }

  stillOpen(): boolean {
    const { gate, lease, lane } = this;
    return lease.mayStartRequest() && !gate.isQuiet(lane) && !this.#isLate() && !this.#isClockSet();
  }

  leaves(): boolean {
    return this.lease.marks.leave(this.key?.id ?? null);
  }

  isShut(): boolean {
    return this.gate.isShut(this.isProbe);
  }

  /** A token that has to be had first must not use up the turn of the probe that needs it. */
  get beforeIt(): Gate {
    const { gate, lane, isProbe } = this;
    return {
      ask: () => gate.check(lane, isProbe, false),
      stillOpen: () => this.stillOpen(),
      isShut: () => this.isShut(),
    };
  }

  #isLate(): boolean {
    const { key, context } = this;
    if (key === null || key.keyGoodUntilMs === Number.POSITIVE_INFINITY) return false;
    return (
      context.nowMs() > key.keyGoodUntilMs || context.clock.sinceBoot().bootMs > key.keyGoodUntilMs - key.wallLeadMs
    );
  }

  /** First the ages on record are corrected: what leaves before that would be corrected as well, and look older than it is. */
  #isClockSet(): boolean {
    return this.key !== null && clockSetSince(this.key.wallLeadMs, this.context) !== 0;
  }
}
