/**
 * Who looks next whether a service that is down is back: one request in so many seconds, whether delivery or a pull makes it.
 * Delivery looks all the time; a pull comes rarely and reserves the next turn. Times are those of a monotonic clock.
 */
export class ProbeTurns {
  readonly #everyMs: number;
  #takenAtMs = Number.NEGATIVE_INFINITY;
  #beforeMs = Number.NEGATIVE_INFINITY;
  #sentAtMs = Number.NEGATIVE_INFINITY;
  #isReserved = false;

  constructor(everyMs: number) {
    this.#everyMs = everyMs;
  }

  /** Takes the turn when it has come, and nobody else has reserved it. */
  take(atMs: number): boolean {
    return !this.#isReserved && this.takeReserved(atMs);
  }

  /** Gives back a turn that was just taken, because there was nothing to send. */
  giveBack(): void {
    this.#takenAtMs = this.#beforeMs;
  }

  /** From now on only `takeReserved` takes a turn, until `release`. */
  reserve(): void {
    this.#isReserved = true;
  }

  takeReserved(atMs: number): boolean {
    if (atMs - Math.max(this.#takenAtMs, this.#sentAtMs) < this.#everyMs) return false;
    this.#beforeMs = this.#takenAtMs;
    this.#takenAtMs = atMs;
    return true;
  }

  release(): void {
    this.#isReserved = false;
  }

  /** Asked right before a probe leaves, which may have waited for its slot. @returns whether it may */
  send(atMs: number): boolean {
    if (atMs - this.#sentAtMs < this.#everyMs) return false;
    this.#sentAtMs = atMs;
    return true;
  }
}
