import type { Limit } from './options.js';
import { SlidingWindow } from './sliding-window.js';

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
