import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Watchdog } from '../support/watchdog.js';
import type { Trap } from './plan.js';

/** One run of a daemon. */
export interface Shift {
  pid: number;
  name: string;
  trap: Trap | null;
  /** The point at which its trap sprang, or null. */
  reached: string | null;
  startedAtMs: number;
  output: string;
  end: number | string | null;
}

/** A place in which a daemon runs; whoever ends in it is followed by another one, as systemd does it. */
export class Crew {
  readonly shifts: Shift[] = [];
  readonly #child = new Map<string, { child: ChildProcess; shift: Shift; gone: Promise<void> }>();
  readonly #traps = new Map<string, Trap[]>();
  readonly #environments: ReadonlyMap<string, NodeJS.ProcessEnv>;
  /** Laid over those, by name. */
  readonly #others = new Map<string, NodeJS.ProcessEnv>();
  readonly #configDir: string;
  readonly #freezeMs: number;
  readonly #watchdog: Watchdog;
  #ending = false;
  #sentHome = false;

  /**
   * @param environments one for each name in the crew
   * @param watchdog ends the daemons when this process can not do it any more
   */
  constructor(
    configDir: string,
    environments: ReadonlyMap<string, NodeJS.ProcessEnv>,
    freezeMs: number,
    watchdog: Watchdog,
  ) {
    this.#watchdog = watchdog;
    this.#configDir = configDir;
    this.#environments = environments;
    this.#freezeMs = freezeMs;
  }

  start(name: string, traps: readonly Trap[]): void {
    this.#traps.set(name, [...traps]);
    this.#spawn(name);
  }

  /** @returns whether there was anybody whom it hit: one that had begun to work */
  signal(name: string, signal: NodeJS.Signals): Shift | null {
    const worker = this.#child.get(name);
    if (!worker || worker.shift.end !== null || worker.shift.output === '') return null;
    return worker.child.kill(signal) ? worker.shift : null;
  }

  /** Whoever works under this name is told to stop, and is followed by one with these variables on top of the usual ones. */
  restart(name: string, others: NodeJS.ProcessEnv): void {
    this.#others.set(name, others);
    this.#child.get(name)?.child.kill('SIGTERM');
  }

  /** Traps that have not sprung yet. */
  get trapsLeft(): number {
    const armed = [...this.#child.values()].filter(({ shift }) => shift.end === null && shift.trap && !shift.reached);
    return [...this.#traps.values()].reduce((sum, traps) => sum + traps.length, armed.length);
  }

  /** True if anybody is there that has begun to work. */
  isAtWork(): boolean {
    return [...this.#child.values()].some(({ shift }) => shift.end === null && shift.output !== '');
  }

  /** The name of the one that delivers, as far as its output says; the first name where none does. */
  deliverer(): string {
    const working = [...this.#child.values()].filter(({ shift }) => shift.end === null);
    const last = working.findLast(({ shift }) => shift.output.includes('from here')) ?? working[0];
    return last?.shift.name ?? 'A';
  }

  /** All are gone, without a word, and nobody follows before `goOn`. */
  async sendHome(): Promise<void> {
    this.#sentHome = true;
    const all = [...this.#child.values()];
    for (const { child } of all) child.kill('SIGKILL');
    await Promise.all(all.map(({ gone }) => gone));
  }

  goOn(): void {
    this.#sentHome = false;
    for (const name of this.#child.keys()) this.#spawn(name);
  }

  /** Wakes whoever is frozen. The traps that are left may still spring; there are only so many. */
  heal(): void {
    for (const { child } of this.#child.values()) child.kill('SIGCONT');
  }

  /** Stops all as an administrator would, and says with what they ended. */
  async stop(withinMs = 15_000): Promise<(number | string)[]> {
    this.#ending = true;
    const last = [...this.#child.values()];
    for (const { child } of last) {
      child.kill('SIGCONT');
      child.kill('SIGTERM');
    }
    const patience = new AbortController();
    await Promise.race([
      Promise.all(last.map(({ gone }) => gone)),
      sleep(withinMs, undefined, { signal: patience.signal }).catch(() => undefined),
    ]);
    patience.abort();
    for (const { child } of last) child.kill('SIGKILL');
    await Promise.all(last.map(({ gone }) => gone));
    // One that was sent a moment ago is ended by the signal itself: Node has not come to its first line yet.
    const isUnborn = (shift: Shift) => shift.end === 'SIGTERM' && shift.output === '';
    return last.map(({ shift }) => (shift.reached || isUnborn(shift) ? 0 : (shift.end ?? 'unknown')));
  }

  #spawn(name: string): void {
    const trap = this.#traps.get(name)?.shift() ?? null;
    const main = fileURLToPath(new URL('../../src/main.js', import.meta.url));
    const child = spawn(process.execPath, [main, 'daemon', '--config', this.#configDir], {
      cwd: this.#configDir,
      env: {
        ...this.#environments.get(name),
        ...this.#others.get(name),
        ...(trap ? { TORTURE_KILL_POINT: `${trap.point}:${trap.nth}:${trap.signal}` } : {}),
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const shift: Shift = {
      pid: child.pid as number,
      name,
      trap,
      reached: null,
      startedAtMs: Date.now(),
      output: '',
      end: null,
    };
    this.shifts.push(shift);
    this.#watchdog.guard(shift.pid);
    const read = (text: string) => {
      shift.output += text;
      const reached = /^reached (\S+) (SIG\w+)$/m.exec(shift.output);
      if (!reached || shift.reached) return;
      shift.reached = reached[1] as string;
      // Frozen past its lease, then it wakes up and believes that nothing has happened.
      if (reached[2] === 'SIGSTOP') setTimeout(() => child.kill('SIGCONT'), this.#freezeMs);
    };
    child.stdout?.setEncoding('utf8').on('data', read);
    child.stderr?.setEncoding('utf8').on('data', read);
    const gone = once(child, 'close').then(async ([code, signal]) => {
      shift.end = code ?? signal;
      this.#watchdog.forget(shift.pid);
      // Whoever ended on the way to the point leaves the trap to the next.
      if (trap && !shift.reached) this.#traps.get(name)?.unshift(trap);
      if (this.#ending || this.#sentHome) return;
      await sleep(150);
      // On a busy machine: until the last bytes of the dead are read, so that they are not taken for its successor's.
      for (let turn = 0; turn < 5; turn++) await nextTurn();
      if (!this.#ending && !this.#sentHome && this.#child.get(name)?.shift === shift) this.#spawn(name);
    });
    this.#child.set(name, { child, shift, gone });
  }
}
