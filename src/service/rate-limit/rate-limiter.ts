import PQueue from 'p-queue';
import type { ServiceSettings } from '../../config/sections/service.js';
import { type Clock, systemClock } from '../../store/clock.js';
import { faster, firstPace, type Pace, slower } from './adaptive-pace.js';
import type { RateLimitAdvice } from './rate-limit-headers.js';
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
  notNow: string | null;
  /** Tells the rate limiter that the service said "slow down", or how much it still takes. */
  heed(throttled: boolean, advice: RateLimitAdvice | null): void;
}

/** How long a request waits for its slot. One that would wait longer is told so: a limit of a day may be used up by noon. */
export const longestSlotWaitMs = 10_000;

/** Node runs a timer that is longer at once. */
const longestTimerMs = 2 ** 31 - 1;

/**
 * Spaces requests so that a service which counts sliding windows has no cause to answer 429: a place among those under way,
 * then, one request after the other in the order of their priorities, a slot of every limit.
 */
export class RateLimiter {
  readonly #connections: PQueue;
  readonly #turnstile = new PQueue({ concurrency: 1 });
  readonly #limits: SlidingSlots[];
  readonly #knownPerSecond: number | null;
  readonly #clock: Clock;
  /** Limits that the service names itself, each until its window has passed since: endpoints may name different ones in turn. */
  #announced = new Map<string, { slots: SlidingSlots; untilMs: number }>();
  #advised: { remaining: number; untilMs: number } | null = null;
  #pace: Pace;
  /** When the requests of the last second left. */
  #lastSecond: number[] = [];
  /** When the next one may leave by the pace. */
  #dueAtMs = Number.NEGATIVE_INFINITY;
  #isClosed = false;
  #wakeUp = new AbortController();

  constructor(options: RateLimiterOptions) {
    this.#clock = options.clock ?? systemClock;
    this.#connections = new PQueue({ concurrency: options.concurrency });
    this.#limits = options.limits.map((limit) => new SlidingSlots(limit));
    this.#knownPerSecond = shortestWindowRate(
      options.limits.map(({ requests, windowMs }) => ({ requests, perSeconds: windowMs / 1000 })),
    );
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
        const { slots, notNow } = await this.#turnstile.add(() => this.#take(isPointless), { priority });
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

  /** Why nothing can go for longer than a request waits for its slot, and for how long; null: it can. */
  get usedUp(): { reason: string; waitMs: number } | null {
    const [longest] = this.#waits(this.#clock.monotonicMs());
    return longest && longest.waitMs > longestSlotWaitMs && Number.isFinite(longest.waitMs) ? longest : null;
  }

  /** An operator does not believe what the service says it still takes: the next answer says it anew. The configured limits stay. */
  forgetAdvice(): void {
    this.#advised = null;
    this.#announced.clear();
    this.reconsider();
  }

  /** Makes requests that wait for a slot ask again whether waiting is any use. */
  reconsider(): void {
    this.#wakeUp.abort();
    this.#wakeUp = new AbortController();
  }

  /** Lets go at once the requests that only wait for their turn, so that the process can end. */
  close(): void {
    this.#isClosed = true;
    this.reconsider();
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
    for (const limit of advice.policies) {
      const name = `${limit.requests}/${limit.windowMs}`;
      const slots = this.#announced.get(name)?.slots ?? new SlidingSlots(limit);
      this.#announced.set(name, { slots, untilMs: now + limit.windowMs });
    }
    if (advice.policies.length > 0)
      for (const [name, { untilMs }] of this.#announced) if (untilMs <= now) this.#announced.delete(name);
  }

  async #take(isPointless: () => boolean): Promise<{ slots: SlidingSlots[]; notNow: string | null }> {
    for (;;) {
      const { signal } = this.#wakeUp;
      const now = this.#clock.monotonicMs();
      // It is asked at the gate once more, and held back there.
      if (this.#isClosed || isPointless()) return { slots: [], notNow: null };
      const [longest] = this.#waits(now);
      if (!longest) {
        const slots = [...this.#limits, ...[...this.#announced.values()].map((one) => one.slots)];
        for (const one of slots) one.take();
        this.#sentInLastSecond(now);
        this.#lastSecond.push(now);
        // From when it was due, and not from when it went: or every late timer would make the pace slower than it is.
        const gapMs = this.#pace.perSecond === null ? 0 : 1000 / this.#pace.perSecond;
        this.#dueAtMs = Math.max(this.#dueAtMs, now - gapMs) + gapMs;
        if (this.#advised) this.#advised.remaining--;
        return { slots, notNow: null };
      }
      // As long as every slot belongs to a request under way, an answer comes soon.
      if (longest.waitMs > longestSlotWaitMs && Number.isFinite(longest.waitMs))
        return { slots: [], notNow: longest.reason };
      // A timer counts from the beginning of its turn of the event loop: on a busy one it ends early, and so is asked again.
      await this.#clock.sleep(Math.min(Math.ceil(longest.waitMs), longestTimerMs), signal);
    }
  }

  /** All that the next request has to wait for, the longest first. */
  #waits(now: number): { reason: string; waitMs: number }[] {
    const { perSecond } = this.#pace;
    const advised = this.#advised;
    if (advised && advised.untilMs <= now) this.#advised = null;
    return [
      ...this.#limits.map((one) => ({ reason: usedUpInWords(one), waitMs: one.waitMs(now) })),
      ...[...this.#announced.values()].map(({ slots }) => ({
        reason: `the service says: ${usedUpInWords(slots)}`,
        waitMs: slots.waitMs(now),
      })),
      {
        reason: 'the service asked us to slow down, request by request',
        waitMs: perSecond === null ? 0 : this.#dueAtMs - now,
      },
      {
        reason: 'the service says that what it takes is used up',
        waitMs: advised && advised.remaining <= 0 ? advised.untilMs - now : 0,
      },
    ]
      .filter(({ waitMs }) => waitMs > 0)
      .sort((a, b) => b.waitMs - a.waitMs);
  }

  #sentInLastSecond(now: number): number {
    const since = this.#lastSecond.findIndex((at) => at > now - 1000);
    this.#lastSecond.splice(0, since === -1 ? this.#lastSecond.length : since);
    return this.#lastSecond.length;
  }
}

function usedUpInWords({ requests, windowMs }: RateLimit): string {
  return `${requests} requests in ${windowMs / 1000} s are used up`;
}

/** Whether a reason is that of a limit in the settings, and not of one that the service named. */
export function isOwnLimit(reason: string): boolean {
  return /^\d+ requests in [\d.]+ s are used up$/.test(reason);
}

/**
 * A successor waits out windows up to this length: its clock may differ from its predecessor's by seconds, and
 * not by minutes. Longer ones are counted from what is on record.
 */
export const longestRestMs = 10_000;

/**
 * Requests a second that the limit with the shortest window allows: how fast requests follow each other. What a longer window
 * allows on average (10,000 a day are 0.12/s) says nothing of that; its slots are counted. Null: no limit is known.
 */
export function shortestWindowRate(limits: readonly { requests: number; perSeconds: number }[]): number | null {
  if (limits.length === 0) return null;
  const shortest = Math.min(...limits.map(({ perSeconds }) => perSeconds));
  const rates = limits.filter(({ perSeconds }) => perSeconds === shortest).map(({ requests }) => requests / shortest);
  return Math.min(...rates);
}

const leastConcurrency = 16;
const mostConcurrency = 256;
/** With answers as slow as this a limit is still used: 200 requests a second are 100 under way. */
const answerSeconds = 0.5;

/** Requests under way at once: what is configured, else what the limits need. */
export function concurrencyOf({ concurrency, limits }: Pick<ServiceSettings, 'concurrency' | 'limits'>): number {
  if (concurrency !== undefined) return concurrency;
  const perSecond = shortestWindowRate(limits);
  if (perSecond === null) return leastConcurrency;
  return Math.min(mostConcurrency, Math.max(leastConcurrency, Math.ceil(perSecond * answerSeconds)));
}
