import { AsyncLocalStorage } from 'node:async_hooks';
import type { Database } from 'better-sqlite3';

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
  /** The distance by which the clock on the wall has been set away from it. */
  wallOffsetMs = 0;
  /** The same of the ERP's clock, which is another machine's. */
  erpOffsetMs = 0;
  /** The time for which the machine slept: the monotonic clock does not count that. */
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

/**
 * The machine on which everything runs that asks for the time, waits, or rolls dice. A process that outlives its history, for
 * as long as a promise takes, stays on its own.
 */
export function machine(): Machine {
  return running.getStore()?.machine ?? current;
}

/** Another history begins, on another machine. */
export function replaceMachine(next: Machine): void {
  current = next;
}

/** The strike on a process when it comes to its nth point. */
export interface Strike {
  nth: number;
  what: 'kill' | 'freeze';
}

/** The kernel has taken the process away: no code of it may have an effect any more. */
export class Gone extends Error {
  override readonly name = 'Gone';
}

/** A promise of its own for each that waits: one for all would keep them, and all that they hold. */
const never = () => new Promise<never>(() => undefined);

/** One process of Waybill on the simulated machine. */
export class SimProcess {
  state: 'running' | 'frozen' | 'ended' | 'killed' = 'running';
  exitCode: number | undefined;
  out = '';
  err = '';
  strike: Strike | null = null;
  readonly signalHandlers = new Map<string, Set<(...args: unknown[]) => void>>();
  readonly databases = new Set<Database>();
  readonly listeners = new Set<() => void>();
  /** Points that it came to, at which it could have been struck. */
  points = 0;
  #thawed: Promise<void> = Promise.resolve();
  #thaw: () => void = () => undefined;

  constructor(
    readonly machine: Machine,
    readonly pid: number,
    readonly argv: readonly string[],
  ) {
    machine.processes.push(this);
  }

  get isThere(): boolean {
    return this.state === 'running' || this.state === 'frozen';
  }

  /** Begins to run. */
  start(main: () => Promise<number>): void {
    running.run(this, () => {
      main().then(
        (code) => this.#end(code),
        (error: unknown) => {
          if (!this.isThere) return;
          this.err += `uncaught: ${(error as Error)?.stack ?? error}\n`;
          this.#end(1);
        },
      );
    });
  }

  /**
   * A place at which it could be struck: before and after everything that is durable, and around the wire.
   * @param mayFreeze whoever stood still inside a transaction would hold everybody else up
   */
  async pass(mayFreeze = true): Promise<void> {
    this.machine.touch();
    this.points++;
    if (
      this.strike &&
      this.state === 'running' &&
      --this.strike.nth <= 0 &&
      (mayFreeze || this.strike.what === 'kill')
    ) {
      const { what } = this.strike;
      this.strike = null;
      if (what === 'kill') this.kill();
      else this.freeze();
    }
    while (this.state === 'frozen') await this.#thawed;
    if (!this.isThere) await never();
  }

  /** Throws for a process that is no longer there: what it would do now has no effect. */
  mustBeThere(): void {
    if (!this.isThere) throw new Gone('this process is no longer there');
  }

  freeze(): void {
    if (this.state !== 'running') return;
    this.state = 'frozen';
    this.#thawed = new Promise((resolve) => {
      this.#thaw = resolve;
    });
  }

  thaw(): void {
    if (this.state !== 'frozen') return;
    this.state = 'running';
    this.machine.touch();
    this.#thaw();
  }

  kill(): void {
    if (this.isThere) this.#cease('killed');
  }

  /** As process.exit does. */
  exit(code: number | undefined): never {
    if (this.isThere) this.#end(code ?? this.exitCode ?? 0);
    throw new Gone('process.exit');
  }

  /** @returns false when nothing handles it, so that it ended the process */
  signal(name: string): boolean {
    if (!this.isThere) return true;
    const handlers = this.signalHandlers.get(name);
    if (!handlers || handlers.size === 0) {
      this.kill();
      return false;
    }
    this.machine.touch();
    for (const handler of [...handlers]) running.run(this, () => handler(name));
    return true;
  }

  #end(code: number): void {
    if (!this.isThere) return;
    this.exitCode = code;
    this.#cease('ended');
  }

  #cease(how: 'ended' | 'killed'): void {
    this.state = how;
    this.machine.touch();
    for (const close of this.listeners) close();
    for (const database of this.databases) {
      try {
        // An open transaction is rolled back.
        if (database.open) database.close();
      } catch {
        // A statement is under way; its connection is forgotten with the process.
      }
    }
    this.databases.clear();
    this.#thaw();
  }
}
