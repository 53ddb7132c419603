import type { Database } from 'better-sqlite3';
import { type Machine, running } from './machine.js';

/** What strikes a process when it comes to its nth point. */
export interface Strike {
  nth: number;
  what: 'kill' | 'freeze';
}

/** The kernel has taken the process away: no code of it may have an effect any more. */
export class Gone extends Error {
  override readonly name = 'Gone';
}

const never = new Promise<never>(() => undefined);

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
    if (this.strike && this.state === 'running' && --this.strike.nth <= 0 && (mayFreeze || this.strike.what === 'kill')) {
      const { what } = this.strike;
      this.strike = null;
      if (what === 'kill') this.kill();
      else this.freeze();
    }
    while (this.state === 'frozen') await this.#thawed;
    if (!this.isThere) await never;
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
