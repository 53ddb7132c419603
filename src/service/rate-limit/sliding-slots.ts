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
  #underWay = 0;
  /** When the slots of answered requests are free again, the earliest first; what lies before `#first` is free. */
  #freeAt: number[] = [];
  #first = 0;

  constructor({ requests, windowMs }: RateLimit) {
    this.requests = requests;
    this.windowMs = windowMs;
  }

  /** How long until a slot is free: 0 is now, Infinity as long as every slot belongs to a request under way. */
  waitMs(nowMs: number): number {
    while (this.#first < this.#freeAt.length && (this.#freeAt[this.#first] as number) <= nowMs) this.#first++;
    if (this.#first > 1024 && this.#first * 2 > this.#freeAt.length) {
      this.#freeAt = this.#freeAt.slice(this.#first);
      this.#first = 0;
    }
    const resting = this.#freeAt.length - this.#first;
    if (this.#underWay + resting < this.requests) return 0;
    // Remembered requests may be more than the limit: then as many have to leave the window.
    const leaves = this.#first + this.#underWay + resting - this.requests;
    return leaves < this.#freeAt.length ? (this.#freeAt[leaves] as number) - nowMs : Number.POSITIVE_INFINITY;
  }

  take(): void {
    this.#underWay++;
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
