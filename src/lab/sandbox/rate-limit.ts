import type { Limit } from './options.js';

/**
 * Admits at most `requests` in any span of `windowMs`. One admitted at time t takes up its place in [t, t + windowMs);
 * a refused one takes none. Times handed in must not run backwards.
 */
export class SlidingWindow {
  /** The last admitted times, as a ring: the next place to write holds the oldest of them. */
  readonly #admittedAtMs: Float64Array;
  #oldest = 0;

  constructor(
    readonly requests: number,
    readonly windowMs: number,
  ) {
    if (!Number.isInteger(requests) || requests < 1 || !(windowMs > 0)) {
      throw new RangeError(`A limit needs requests >= 1 and windowMs > 0, got ${requests} in ${windowMs} ms`);
    }
    this.#admittedAtMs = new Float64Array(requests).fill(Number.NEGATIVE_INFINITY);
  }

  /** How long until there is room, in ms; 0 when there is room now. */
  waitMs(nowMs: number): number {
    const oldestMs = this.#admittedAtMs[this.#oldest] ?? Number.NEGATIVE_INFINITY;
    return Math.max(0, this.windowMs - (nowMs - oldestMs));
  }

  take(nowMs: number): void {
    this.#admittedAtMs[this.#oldest] = nowMs;
    this.#oldest = (this.#oldest + 1) % this.requests;
  }
}

/** Several sliding windows that must all have room. */
export class RateLimit {
  readonly #windows: SlidingWindow[];

  constructor(limits: readonly Limit[]) {
    this.#windows = limits.map((limit) => new SlidingWindow(limit.requests, limit.windowMs));
  }

  /** Takes a place in every window and returns 0, or takes none and returns the wait in ms until all have room. */
  take(nowMs: number): number {
    let waitMs = 0;
    for (const window of this.#windows) waitMs = Math.max(waitMs, window.waitMs(nowMs));
    if (waitMs === 0) for (const window of this.#windows) window.take(nowMs);
    return waitMs;
  }
}
