/** Timers that can all be stopped at once, so that closing never waits for a delayed answer. */
export class Timers {
  readonly #running = new Set<NodeJS.Timeout>();

  /** Acts after `ms`; at once where that is 0. */
  after(ms: number, act: () => void): void {
    if (ms <= 0) {
      act();
      return;
    }
    const timer = setTimeout(() => {
      this.#running.delete(timer);
      act();
    }, ms);
    this.#running.add(timer);
  }

  stopAll(): void {
    for (const timer of this.#running) clearTimeout(timer);
    this.#running.clear();
  }
}
