import PQueue from 'p-queue';
import { type Clock, systemClock } from '../store/clock.js';
import { faster, firstPace, type Pace, slower } from './adaptive-pace.js';
import type { RateLimitAdvice } from './rate-limit-headers.js';
import { type PacerLimit, SlidingSlots } from './sliding-slots.js';

export interface PacerOptions {
  /** Requests under way at once. */
  concurrency: number;
  /** All of them hold at once; none: the limit is not known, and is felt for. */
  limits: readonly PacerLimit[];
  clock?: Clock;
}

/** Tells the pacer that the service said "slow down", or how much it still takes. */
export type Heed = (throttled: boolean, advice: RateLimitAdvice | null) => void;

/** Node runs a timer that is longer at once. */
const longestTimerMs = 2 ** 31 - 1;

/**
 * Spaces requests so that a service which counts sliding windows has no cause to answer 429: a place among those under way,
 * then, one request after the other in the order of their priorities, a slot of every limit.
 */
export class Pacer {
  readonly #connections: PQueue;
  readonly #turnstile = new PQueue({ concurrency: 1 });
  readonly #limits: SlidingSlots[];
  readonly #knownPerSecond: number | null;
  readonly #clock: Clock;
  /** Limits that the service names itself. */
  #announced = new Map<string, SlidingSlots>();
  #advised: { remaining: number; untilMs: number } | null = null;
  #pace: Pace;
  /** When the requests of the last second left. */
  #lastSecond: number[] = [];
  #isClosed = false;
  #wakeUp = new AbortController();

  constructor(options: PacerOptions) {
    this.#clock = options.clock ?? systemClock;
    this.#connections = new PQueue({ concurrency: options.concurrency });
    this.#limits = options.limits.map((limit) => new SlidingSlots(limit));
    const perSecond = options.limits.map(({ requests, windowMs }) => (requests * 1000) / windowMs);
    this.#knownPerSecond = perSecond.length === 0 ? null : Math.min(...perSecond);
    this.#pace = firstPace(this.#knownPerSecond !== null, this.#clock.monotonicMs());
  }

  /**
   * Runs `task` when its turn has come. The promise settles with the task, before the slot is free again.
   * @param task is handed a function to say what the answer told of the pace
   * @param isUsed whether a result took a slot at the service; a request that we held back did not
   * @param priority higher goes first
   */
  run<T>(task: (heed: Heed) => Promise<T>, isUsed: (result: T) => boolean = () => true, priority = 0): Promise<T> {
    // First a connection, then a slot: a slot that waited for a connection would be idle at the service's expense.
    return this.#connections.add(
      async () => {
        const slots = await this.#turnstile.add(() => this.#take(), { priority });
        const takenAtMs = this.#clock.monotonicMs();
        let used = true;
        try {
          const result = await task((throttled, advice) => this.#heed(throttled, advice, takenAtMs));
          used = isUsed(result);
          return result;
        } finally {
          const now = this.#clock.monotonicMs();
          for (const slot of slots) slot.giveBack(now, used);
          this.#look();
        }
      },
      { priority },
    );
  }

  /**
   * What long windows hold already, whichever process sent it. Called while nothing is under way.
   * @param agesMs how long ago each request was answered at the latest, the oldest first
   * @param longerThanMs windows up to this length were waited out instead
   */
  recall(agesMs: readonly number[], longerThanMs: number): void {
    const now = this.#clock.monotonicMs();
    for (const slots of this.#limits)
      if (slots.windowMs > longerThanMs)
        slots.recall(agesMs.filter((age) => age < slots.windowMs).map((age) => now - age));
  }

  /** Requests that wait for their turn. */
  get waiting(): number {
    return this.#connections.size + this.#turnstile.size + this.#turnstile.pending;
  }

  /** Lets go at once whatever only waits for its turn, so that the process can end. */
  close(): void {
    this.#isClosed = true;
    this.#look();
  }

  #heed(throttled: boolean, advice: RateLimitAdvice | null, sentAtMs: number): void {
    const now = this.#clock.monotonicMs();
    const lastSecond = this.#sentInLastSecond(now);
    this.#pace = throttled
      ? slower(this.#pace, sentAtMs, lastSecond, this.#knownPerSecond, now)
      : faster(this.#pace, lastSecond, this.#knownPerSecond, now);
    if (advice === null) return;
    this.#advised =
      advice.remaining === null || advice.resetMs === null
        ? null
        : { remaining: advice.remaining, untilMs: now + advice.resetMs };
    const announced = new Map<string, SlidingSlots>();
    for (const limit of advice.policies) {
      const name = `${limit.requests}/${limit.windowMs}`;
      announced.set(name, this.#announced.get(name) ?? new SlidingSlots(limit));
    }
    if (announced.size > 0) this.#announced = announced;
  }

  /** Whoever waits at the turnstile looks again. */
  #look(): void {
    this.#wakeUp.abort();
    this.#wakeUp = new AbortController();
  }

  async #take(): Promise<SlidingSlots[]> {
    for (;;) {
      const { signal } = this.#wakeUp;
      const all = [...this.#limits, ...this.#announced.values()];
      const now = this.#clock.monotonicMs();
      const waitMs = this.#isClosed ? 0 : Math.max(this.#paceWaitMs(now), ...all.map((slots) => slots.waitMs(now)));
      if (waitMs <= 0) {
        for (const slots of all) slots.take();
        this.#sentInLastSecond(now);
        this.#lastSecond.push(now);
        if (this.#advised) this.#advised.remaining--;
        return all;
      }
      // A timer counts from the beginning of its turn of the event loop: on a busy one it ends early, and so is asked again.
      await this.#clock.sleep(Math.min(Math.ceil(waitMs), longestTimerMs), signal);
    }
  }

  #paceWaitMs(now: number): number {
    const { perSecond } = this.#pace;
    const last = this.#lastSecond.at(-1);
    const spacedMs = perSecond === null || last === undefined ? 0 : last + 1000 / perSecond - now;
    const advised = this.#advised;
    if (advised && advised.untilMs <= now) this.#advised = null;
    const advisedMs = advised && advised.remaining <= 0 ? advised.untilMs - now : 0;
    return Math.max(spacedMs, advisedMs);
  }

  /** Keeps the last one, however long ago, to space the next by. */
  #sentInLastSecond(now: number): number {
    const since = this.#lastSecond.findIndex((at) => at > now - 1000);
    const older = since === -1 ? this.#lastSecond.length : since;
    const inSecond = this.#lastSecond.length - older;
    if (older > 1) this.#lastSecond.splice(0, older - 1);
    return inSecond;
  }
}
