import { AsyncLocalStorage } from 'node:async_hooks';
import type { SimProcess } from './process.js';

/** Milliseconds since 1970 at which every history begins. */
export const startMs = Date.UTC(2026, 5, 1, 8);

interface Timer {
  atMs: number;
  nth: number;
  owner: SimProcess | null;
  run: () => void;
}

/** Turns of the event loop without a sign of life after which only time can bring something about. */
const quietTurns = 3;

/** The real ones, before anything is put in their place. */
const nextTurn = setImmediate;

/** Which process of the simulated machine the running code belongs to. */
export const running = new AsyncLocalStorage<SimProcess>();

/**
 * One machine: its clocks, its timers, its dice, and the processes on it. Time stands still while anybody works, and jumps to
 * the next timer when nobody does.
 */
export class Machine {
  /** Time since the history began, which nobody can set. */
  elapsedMs = 0;
  /** How far the clock on the wall has been set away from it. */
  wallOffsetMs = 0;
  /** The same of the ERP's clock, which is another machine's. */
  erpOffsetMs = 0;
  /** How long the machine slept: the monotonic clock does not count that. */
  sleptMs = 0;
  readonly processes: SimProcess[] = [];
  #signs = 0;
  #nth = 0;
  #timers: Timer[] = [];
  #random: number;

  constructor(seed: number) {
    this.#random = seed >>> 0;
  }

  get wallMs(): number {
    return startMs + this.elapsedMs + this.wallOffsetMs;
  }

  get erpMs(): number {
    return startMs + this.elapsedMs + this.erpOffsetMs;
  }

  /** Milliseconds since a moment before the history began. */
  get bootMs(): number {
    return 10_000_000 + this.elapsedMs;
  }

  get monotonicMs(): number {
    return 1_000_000 + this.elapsedMs - this.sleptMs;
  }

  /** In [0, 1): mulberry32. */
  random(): number {
    this.#random = (this.#random + 0x6d2b79f5) >>> 0;
    let t = this.#random;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  /** Whoever gives a sign of life is not waiting for time to pass. */
  touch(): void {
    this.#signs++;
  }

  after(ms: number, owner: SimProcess | null, run: () => void): Timer {
    this.touch();
    const timer = { atMs: this.elapsedMs + Math.max(0, Math.ceil(ms) || 0), nth: this.#nth++, owner, run };
    this.#timers.push(timer);
    return timer;
  }

  cancel(timer: Timer): void {
    const at = this.#timers.indexOf(timer);
    if (at >= 0) this.#timers.splice(at, 1);
  }

  /** Lets time pass for so long at most. @returns true when `isOver` came true */
  async run(ms: number, isOver: () => boolean = () => false): Promise<boolean> {
    const untilMs = this.elapsedMs + ms;
    do {
      await this.#quiet();
      if (isOver()) return true;
    } while (this.#fireNext(untilMs));
    this.elapsedMs = Math.max(this.elapsedMs, untilMs);
    return isOver();
  }

  #fireNext(untilMs: number): boolean {
    let next: Timer | undefined;
    this.#timers = this.#timers.filter(({ owner }) => owner === null || owner.isThere);
    for (const timer of this.#timers) {
      if (timer.atMs > untilMs || timer.owner?.state === 'frozen') continue;
      if (!next || timer.atMs < next.atMs || (timer.atMs === next.atMs && timer.nth < next.nth)) next = timer;
    }
    if (!next) return false;
    this.cancel(next);
    this.elapsedMs = Math.max(this.elapsedMs, next.atMs);
    this.touch();
    const { owner, run } = next;
    if (owner) running.run(owner, run);
    else running.exit(run);
    return true;
  }

  /** Until nobody does anything any more. */
  async #quiet(): Promise<void> {
    for (let turns = 0, seen = -1; turns < quietTurns; turns++) {
      if (seen !== this.#signs) turns = 0;
      seen = this.#signs;
      await new Promise<void>((resolve) => nextTurn(resolve));
    }
  }
}

let current = new Machine(0);

/** The machine on which everything runs that asks for the time, waits, or rolls dice. */
export function machine(): Machine {
  return current;
}

/** Another history begins, on another machine. */
export function replaceMachine(next: Machine): void {
  current = next;
}
