import PQueue, { type QueueAddOptions } from 'p-queue';
import type { Fact } from '../../model/facts/fact.js';
import { type Clock, noReason, systemClock } from '../../store/clock.js';
import { faster, firstPace, type Pace, slower } from './adaptive-pace.js';
import { LimitShare } from './limit-share.js';
import type { RateLimitAdvice } from './rate-limit-headers.js';
import { AnnouncedLimits } from './rate-limit-headers.js';
import { type RateLimit, SlidingSlots } from './sliding-slots.js';

interface RateLimiterOptions {
  /** Requests under way at once. */
  concurrency: number;
  /** All of them hold at once; none: the limit is not known, and is felt for. */
  limits: readonly RateLimit[];
  clock?: Clock;
}

/** A request's turn. */
export interface Turn {
  /** Why it has no slot and must not be sent, or null. */
  notNow: Fact | null;
  /** Tells the rate limiter that the service said "slow down", or how much it still takes. */
  heed(throttled: boolean, advice: RateLimitAdvice | null): void;
}

/** The time that a request waits for its slot. One that would wait longer is told so: a limit of a day may be used up by noon. */
export const longestSlotWaitMs = 10_000;

/** Node runs a timer that is longer at once. */
const longestTimerMs = 2 ** 31 - 1;

/**
 * Spaces requests so that a service which counts sliding windows has no cause to answer 429: a place among those under way,
 * then, one request after the other in the order of their priorities, a slot of every limit.
 */
export class RateLimiter {
  readonly share: LimitShare;
  readonly #connections: PQueue<PriorityLine, QueueAddOptions>;
  /** A request that waits for a slot. */
  readonly #waiting = new PriorityLine<Waiting>();
  readonly #limits: SlidingSlots[];
  #knownPerSecond: number | null;
  readonly #clock: Clock;
  readonly #announced = new AnnouncedLimits();
  #pace: Pace;
  /** When the requests of the last second left; what lies before `#lastSecondFrom` is older. */
  #lastSecond: number[] = [];
  #lastSecondFrom = 0;
  /** When the next one may leave by the pace. */
  #dueAtMs = Number.NEGATIVE_INFINITY;
  #isClosed = false;
  /** When it is looked next whether there is a slot; null: nobody waits for a moment that is known. */
  #alarm: { atMs: number; cancel: AbortController } | null = null;

  constructor(options: RateLimiterOptions) {
    this.#clock = options.clock ?? systemClock;
    this.#connections = new PQueue({ concurrency: options.concurrency, queueClass: PriorityLine });
    this.#limits = options.limits.map((limit) => new SlidingSlots(limit));
    const { monotonicMs } = this.#clock;
    this.share = new LimitShare(this.#limits, monotonicMs, (nodes) => {
      this.#announced.divideBy(nodes);
      this.#knownPerSecond = this.share.perSecond;
      this.reconsider();
    });
    this.#knownPerSecond = this.share.perSecond;
    this.#pace = firstPace(this.#knownPerSecond !== null, this.#clock.monotonicMs());
  }

  /**
   * Runs `task` when its turn has come. The promise settles with the task, before the slot is free again.
   * @param task is told whether it may go, and says what the answer told of the pace
   * @param isUsed whether a result took a slot of this window at the service; a request that we held back did not
   * @param priority higher goes first
   * @param isPointless whether it will not go anyway, so that it need not wait for a slot
   */
  run<T>(
    task: (turn: Turn) => Promise<T>,
    isUsed: (result: T, windowMs: number) => boolean = () => true,
    priority = 0,
    isPointless = () => false,
  ): Promise<T> {
    // First a connection, then a slot: a slot that waited for a connection would be idle at the service's expense.
    return this.#connections.add(
      async () => {
        const { slots, notNow } =
          (this.#waiting.size === 0 ? this.#take(isPointless) : null) ?? (await this.#wait(isPointless, priority));
        const takenAtMs = this.#clock.monotonicMs();
        let used = (_windowMs: number) => true;
        try {
          const result = await task({
            notNow,
            heed: (throttled, advice) => this.#heed(throttled, advice, takenAtMs),
          });
          used = (windowMs) => isUsed(result, windowMs);
          return result;
        } finally {
          const now = this.#clock.monotonicMs();
          for (const slot of slots) slot.giveBack(now, used(slot.windowMs));
          this.reconsider();
        }
      },
      { priority },
    );
  }

  /**
   * The requests that long windows hold already, whichever process sent them. Called while nothing is under way.
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
    return this.#connections.size + this.#waiting.size;
  }

  /** Requests that left in the last second. */
  get sentInLastSecond(): number {
    return this.#sentInLastSecond(this.#clock.monotonicMs());
  }

  /** Why nothing can go for longer than a request waits for its slot, and for how long; null: it can. */
  get usedUp(): { reason: Fact; waitMs: number } | null {
    const longest = this.#longestWait(this.#clock.monotonicMs());
    return longest && longest.waitMs > longestSlotWaitMs && Number.isFinite(longest.waitMs) ? longest : null;
  }

  /** An operator does not believe what the service says it still takes: the next answer says it anew. The configured limits stay. */
  forgetAdvice(): void {
    this.#announced.forget();
    this.reconsider();
  }

  /** Lets go what waits for a slot that is free by now, or need not wait any longer. */
  reconsider(): void {
    for (let { first } = this.#waiting; first; { first } = this.#waiting) {
      const taken = this.#take(first.isPointless);
      if (taken === null) {
        this.#setAlarm();
        return;
      }
      this.#waiting.dequeue();
      first.resolve(taken);
    }
  }

  /** Lets go at once the requests that only wait for their turn, so that the process can end. */
  close(): void {
    this.#isClosed = true;
    this.reconsider();
    this.#alarm?.cancel.abort(noReason);
  }

  #heed(throttled: boolean, advice: RateLimitAdvice | null, sentAtMs: number): void {
    const now = this.#clock.monotonicMs();
    const lastSecond = this.#sentInLastSecond(now);
    this.#pace = throttled
      ? slower(this.#pace, sentAtMs, lastSecond, this.#knownPerSecond, now)
      : faster(this.#pace, lastSecond, this.#knownPerSecond, now);
    if (advice !== null) this.#announced.heed(advice, now);
  }

  #wait(isPointless: () => boolean, priority: number): Promise<Taken> {
    this.share.want();
    return new Promise((resolve) => {
      this.#waiting.enqueue({ isPointless, resolve }, { priority });
      this.reconsider();
    });
  }

  #setAlarm(): void {
    const now = this.#clock.monotonicMs();
    const { waitMs } = this.#longestWait(now) ?? { waitMs: 0 };
    // As long as every slot belongs to a request under way, its end is heard of.
    if (!Number.isFinite(waitMs) || (this.#alarm && this.#alarm.atMs <= now + waitMs)) return;
    this.#alarm?.cancel.abort(noReason);
    const alarm = { atMs: now + waitMs, cancel: new AbortController() };
    this.#alarm = alarm;
    // A timer counts from the beginning of its turn of the event loop: on a busy one it ends early, and so is set again.
    void this.#clock.sleep(Math.min(Math.ceil(waitMs), longestTimerMs), alarm.cancel.signal).then(() => {
      if (this.#alarm !== alarm) return;
      this.#alarm = null;
      this.reconsider();
    });
  }

  /** @returns null when there is a slot to wait for */
  #take(isPointless: () => boolean): Taken | null {
    // It is asked at the gate once more, and held back there.
    if (this.#isClosed || isPointless()) return { slots: [], notNow: null };
    const now = this.#clock.monotonicMs();
    const longest = this.#longestWait(now);
    if (longest) {
      // As long as every slot belongs to a request under way, an answer comes soon.
      const isLong = longest.waitMs > longestSlotWaitMs && Number.isFinite(longest.waitMs);
      return isLong ? { slots: [], notNow: longest.reason } : null;
    }
    const slots = [...this.#limits, ...this.#announced.take()];
    for (const one of slots) one.take();
    this.#sentInLastSecond(now);
    this.#lastSecond.push(now);
    // From when it was due, and not from when it went: or every late timer would make the pace slower than it is.
    const gapMs = this.#pace.perSecond === null ? 0 : 1000 / this.#pace.perSecond;
    this.#dueAtMs = Math.max(this.#dueAtMs, now - gapMs) + gapMs;
    return { slots, notNow: null };
  }

  /** The limit that the next request has to wait for longest; null: none. */
  #longestWait(now: number): { reason: Fact; waitMs: number } | null {
    let reason = (): Fact => ({ code: 'slowed_down' });
    let longestMs = 0;
    const consider = (waitMs: number, why: () => Fact) => {
      if (waitMs <= longestMs) return;
      longestMs = waitMs;
      reason = why;
    };
    for (const slots of this.#limits) consider(slots.waitMs(now), () => usedUp(slots, 'settings'));
    if (this.#pace.perSecond !== null) consider(this.#dueAtMs - now, () => ({ code: 'slowed_down' }));
    this.#announced.waits(now, (waitMs, slots) =>
      consider(waitMs, () => (slots ? usedUp(slots, 'service') : { code: 'announced_limit_used_up' })),
    );
    return longestMs > 0 ? { reason: reason(), waitMs: longestMs } : null;
  }

  #sentInLastSecond(now: number): number {
    const sent = this.#lastSecond;
    while (this.#lastSecondFrom < sent.length && (sent[this.#lastSecondFrom] as number) <= now - 1000)
      this.#lastSecondFrom++;
    if (this.#lastSecondFrom > 1024 && this.#lastSecondFrom * 2 > sent.length) {
      this.#lastSecond = sent.slice(this.#lastSecondFrom);
      this.#lastSecondFrom = 0;
    }
    return this.#lastSecond.length - this.#lastSecondFrom;
  }
}

/**
 * The waiting requests: higher priorities first, then in the order in which they came. p-queue's own queue keeps up to
 * a hundred entries that have left it, and so their requests, alive for the garbage collector to copy.
 */
class PriorityLine<T = () => Promise<unknown>> {
  readonly #waiting: { priority: number; one: T }[] = [];

  get size(): number {
    return this.#waiting.length;
  }

  get first(): T | undefined {
    return this.#waiting[0]?.one;
  }

  enqueue(one: T, { priority = 0 }: QueueAddOptions = {}): void {
    const behind = this.#waiting.findLastIndex((other) => other.priority >= priority);
    this.#waiting.splice(behind + 1, 0, { priority, one });
  }

  dequeue(): T | undefined {
    return this.#waiting.shift()?.one;
  }

  filter({ priority = 0 }: QueueAddOptions): T[] {
    return this.#waiting.filter((other) => other.priority === priority).map(({ one }) => one);
  }

  setPriority(): never {
    throw new Error('What waits keeps its priority.');
  }
}

interface Waiting {
  isPointless: () => boolean;
  resolve: (taken: Taken) => void;
}

/** The outcome of a request's wait. */
interface Taken {
  slots: readonly SlidingSlots[];
  notNow: Fact | null;
}

/**
 * A successor waits out windows up to this length: its clock may differ from its predecessor's by seconds, and
 * not by minutes. Longer ones are counted from what is on record.
 */
export const longestRestMs = 10_000;

function usedUp({ requests, windowMs }: RateLimit, by: 'settings' | 'service'): Fact {
  return { code: 'limit_used_up', by, requests, windowMs };
}
