import type { ServiceSettings } from '../../config/sections/service.js';

export interface RateLimit {
  requests: number;
  windowMs: number;
}

/**
 * The slots of one limit: never more than `requests` in any window of the service's, wherever it begins.
 *
 * A slot is free again one window after its *answer*, not after its start: whatever time the request took on the way, the
 * service counted it no later than that (field notes, p-queue: 0 answers of 429 at 98.9 % of the limit). Times are
 * monotonic milliseconds.
 */
export class SlidingSlots {
  readonly requests: number;
  readonly windowMs: number;
  /** The number of slots that may be used here: all of them, or this node's share. */
  places: number;
  #underWay = 0;
  /** When the slots of answered requests are free again, the earliest first; what lies before `#first` is free. */
  #freeAt: number[] = [];
  #first = 0;
  #peak = 0;

  constructor({ requests, windowMs }: RateLimit) {
    this.requests = requests;
    this.windowMs = windowMs;
    this.places = requests;
  }

  /** The time until a slot is free: 0 is now, Infinity as long as every slot belongs to a request under way. */
  waitMs(nowMs: number): number {
    const inUse = this.inUse(nowMs);
    if (inUse < this.places) return 0;
    // Remembered requests may be more than the limit: then as many have to leave the window.
    const leaves = this.#first + inUse - this.places;
    return leaves < this.#freeAt.length ? (this.#freeAt[leaves] as number) - nowMs : Number.POSITIVE_INFINITY;
  }

  /** Slots of requests that are under way, or that the service still counts. */
  inUse(nowMs: number): number {
    while (this.#first < this.#freeAt.length && (this.#freeAt[this.#first] as number) <= nowMs) this.#first++;
    if (this.#first > 1024 && this.#first * 2 > this.#freeAt.length) {
      this.#freeAt = this.#freeAt.slice(this.#first);
      this.#first = 0;
    }
    return this.#underWay + this.#freeAt.length - this.#first;
  }

  /** The most slots that were in use at once since this was asked last. */
  takePeak(nowMs: number): number {
    const peak = Math.max(this.#peak, this.inUse(nowMs));
    this.#peak = 0;
    return peak;
  }

  take(): void {
    this.#underWay++;
    this.#peak = Math.max(this.#peak, this.#underWay + this.#freeAt.length - this.#first);
  }

  /** @param used whether the request may have reached the service; what was held back gives its slot back at once */
  giveBack(nowMs: number, used: boolean): void {
    this.#underWay--;
    if (used) this.#freeAt.push(nowMs + this.windowMs);
  }

  /** All that the service still counts, instead of what was known. @param answeredAtMs ascending, each no earlier than the answer */
  recall(answeredAtMs: readonly number[]): void {
    this.#freeAt = answeredAtMs.map((at) => at + this.windowMs);
    this.#first = 0;
  }
}

/**
 * Requests a second that the limit with the shortest window allows: how fast requests follow each other. The average of
 * a longer window (10,000 a day are 0.12/s) says nothing of that; its slots are counted. Null: no limit is known.
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
