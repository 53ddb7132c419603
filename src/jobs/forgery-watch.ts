const many = 20;
const withinMs = 60_000;
const overAfterMs = 3_600_000;

/** Makes one alert of a flood of forged webhooks. Pure, but for what it remembers: so many within a minute begin it, an hour without one ends it. */
export class ForgeryWatch {
  #windowAtMs = Number.NEGATIVE_INFINITY;
  #inWindow = 0;
  #lastAtMs = Number.NEGATIVE_INFINITY;
  /** An alert of an earlier process is over when this one sees nothing for as long. */
  #isOn: boolean | null = null;
  #startedAtMs: number | null = null;

  see(forged: number, nowMs: number): 'begun' | 'over' | null {
    this.#startedAtMs ??= nowMs;
    if (forged > 0) {
      if (nowMs - this.#windowAtMs > withinMs) {
        this.#windowAtMs = nowMs;
        this.#inWindow = 0;
      }
      this.#inWindow += forged;
      this.#lastAtMs = nowMs;
      if (this.#inWindow < many || this.#isOn) return null;
      this.#isOn = true;
      return 'begun';
    }
    if (this.#isOn === false || nowMs - Math.max(this.#lastAtMs, this.#startedAtMs) < overAfterMs) return null;
    this.#isOn = false;
    return 'over';
  }
}
