import type { Clock } from '../store/clock.js';

/** Work that is done again and again, the next time some time after it has ended, until it is cancelled. */
export class Recurring {
  #running: Promise<void> = Promise.resolve();
  #cancelTimer: () => void = () => undefined;
  #isCancelled = false;

  /**
   * @param dueInMs asked each time: milliseconds until the next time
   * @param work never rejects
   */
  constructor(
    private readonly clock: Pick<Clock, 'after'>,
    private readonly dueInMs: () => number,
    private readonly work: () => Promise<void>,
  ) {}

  get isCancelled(): boolean {
    return this.#isCancelled;
  }

  start(): void {
    if (this.#isCancelled) return;
    this.#cancelTimer = this.clock.after(this.dueInMs(), () => {
      this.#running = this.work().then(() => this.start());
    });
  }

  cancel(): void {
    this.#isCancelled = true;
    this.#cancelTimer();
  }

  /** Resolves when none is under way. */
  ended(): Promise<void> {
    return this.#running;
  }
}
