import { type Answer, Refusal } from './answer.js';
import type { Limit, RetryAfterForm } from './options.js';

/**
 * Admits at most `requests` in any span of `windowMs`. A request admitted at time t takes up its place in
 * [t, t + windowMs); a refused one takes none. Times handed in must not run backwards.
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

  /** The time until there is room, in ms; 0 when there is room now. */
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
    const waitMs = Math.max(0, ...this.#windows.map((window) => window.waitMs(nowMs)));
    if (waitMs === 0) for (const window of this.#windows) window.take(nowMs);
    return waitMs;
  }
}

/** The 429 of a client that has to wait `waitMs`, with `Retry-After` in the given form. */
export function tooManyRequests(form: RetryAfterForm, waitMs: number, nowMs: number): Answer {
  const retryAfter = retryAfterValues[form](waitMs, nowMs);
  return {
    ...new Refusal(429, 'too_many_requests', 'Too many requests').toAnswer(),
    headers: retryAfter === null ? {} : { 'retry-after': retryAfter },
  };
}

/** Both true forms are rounded up to whole seconds (RFC 9110, 10.2.3). */
const retryAfterValues: Record<RetryAfterForm, (waitMs: number, nowMs: number) => string | null> = {
  seconds: (waitMs) => String(Math.ceil(waitMs / 1000)),
  'http-date': (waitMs, nowMs) => new Date(Math.ceil((nowMs + waitMs) / 1000) * 1000).toUTCString(),
  past: (_waitMs, nowMs) => new Date(nowMs - 60 * 60 * 1000).toUTCString(),
  junk: () => 'in a little while',
  absurd: () => String(100 * 365 * 24 * 60 * 60),
  absent: () => null,
};
