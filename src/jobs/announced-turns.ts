/** After events that could not be read about, and between two pulls that events ask for. */
const retryMs = 5_000;
const pullEveryMs = 30_000;

/**
 * When the daemon reads what events announced: at once when one has come, later again when something stood in the way, and no
 * more than one pull every half a minute, however many events ask for one. Pure, but for what it remembers.
 */
export class AnnouncedTurns {
  /** A first look finds what came while nobody delivered. */
  #dueAtMs: number | null = Number.NEGATIVE_INFINITY;
  #pulledAtMs = Number.NEGATIVE_INFINITY;

  /** An event has come. */
  announce(): void {
    this.#dueAtMs = Number.NEGATIVE_INFINITY;
  }

  /** @returns whether it is time to read; the turn is taken by that */
  take(nowMs: number): boolean {
    if (this.#dueAtMs === null || this.#dueAtMs > nowMs) return false;
    this.#dueAtMs = null;
    return true;
  }

  /** Something has to wait. */
  waitFor(nowMs: number): void {
    this.#dueAtMs = Math.min(this.#dueAtMs ?? Number.POSITIVE_INFINITY, nowMs + retryMs);
  }

  /** @returns whether a pull may be made for events now; if not, the events' turn comes when it may */
  takePull(nowMs: number): boolean {
    if (nowMs - this.#pulledAtMs >= pullEveryMs) {
      this.#pulledAtMs = nowMs;
      return true;
    }
    this.#dueAtMs = Math.min(this.#dueAtMs ?? Number.POSITIVE_INFINITY, this.#pulledAtMs + pullEveryMs);
    return false;
  }
}
