import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The clock on the wall of all daemons and commands in a run, as its lead over the true time. */
export class WallClock {
  readonly #file: string;
  readonly #startedAtMs = Date.now();
  /** All that it was ahead by so far, and when the clock was set forward, by the true time. */
  readonly #leads: number[];
  readonly forwardAt: number[] = [];
  #stoodStillMs = 0;

  private constructor(file: string, aheadMs: number) {
    this.#file = file;
    this.#leads = [aheadMs];
  }

  static async start(folder: string, aheadMs: number): Promise<WallClock> {
    const clock = new WallClock(join(folder, 'clock'), aheadMs);
    clock.#write(aheadMs);
    return clock;
  }

  /** The environment of a process that is to see this clock. */
  get environment(): NodeJS.ProcessEnv {
    const loader = new URL('./set-clock.js', import.meta.url);
    return { NODE_OPTIONS: `--import=${loader.href}`, TORTURE_CLOCK_FILE: this.#file };
  }

  async set(aheadMs: number): Promise<void> {
    if (aheadMs > (this.#leads.at(-1) as number)) this.forwardAt.push(Date.now());
    this.#leads.push(aheadMs);
    this.#write(aheadMs);
  }

  /** The monotonic clock has stood still for so long, as on a machine that was suspended. */
  standStill(forMs: number): void {
    this.#stoodStillMs += forMs;
    this.#write(this.#leads.at(-1) as number);
  }

  /** The true time of what this clock showed in the run. A mark that is no time of the run stays as it is. */
  trueTime(shownMs: number): number {
    const lead = this.#leads.find((aheadMs) => {
      const atMs = shownMs - aheadMs;
      return atMs > this.#startedAtMs - 60_000 && atMs < Date.now() + 60_000;
    });
    return shownMs - (lead ?? 0);
  }

  /** In one step: nobody reads half a number, and two that are set at once do not meet. */
  #write(aheadMs: number): void {
    writeFileSync(`${this.#file}.new`, `${aheadMs} ${this.#stoodStillMs}`);
    renameSync(`${this.#file}.new`, this.#file);
  }
}
