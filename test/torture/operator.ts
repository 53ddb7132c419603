import { execFile } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Coverage } from './coverage.js';
import type { OperatorTrap } from './plan.js';

export interface CommandResult {
  code: number;
  stdout: string;
  stderr: string;
}

/** Whoever types `waybill …` on the machine on which the daemons run. */
export class Operator {
  /** All that the commands printed. */
  readonly printed: string[] = [];
  readonly #configDir: string;
  readonly #env: NodeJS.ProcessEnv;
  readonly #coverage: Coverage;
  /** The next command of a kind dies at the first of its points that is left. */
  readonly #traps: OperatorTrap[];

  constructor(configDir: string, env: NodeJS.ProcessEnv, coverage: Coverage, traps: readonly OperatorTrap[]) {
    this.#configDir = configDir;
    this.#env = env;
    this.#coverage = coverage;
    this.#traps = [...traps];
  }

  run(...args: string[]): Promise<CommandResult> {
    const trap = this.#traps.find(({ command }) => args.join(' ').startsWith(command));
    if (trap) this.#traps.splice(this.#traps.indexOf(trap), 1);
    const env = trap ? { ...this.#env, TORTURE_KILL_POINT: trap.point } : this.#env;
    const main = fileURLToPath(new URL('../../src/main.js', import.meta.url));
    return new Promise((resolve) => {
      execFile(
        process.execPath,
        [main, ...args, '--config', this.#configDir],
        { cwd: this.#configDir, env, timeout: 30_000 },
        (error, stdout, stderr) => {
          const failed = typeof error?.code === 'number' ? error.code : -1;
          const code = error ? failed : 0;
          this.printed.push(`$ waybill ${args.join(' ')}\n${stdout}${stderr}exit code ${code}`);
          if (trap && stderr.includes(`reached ${trap.point} `)) this.#coverage.count(`point:${trap.point}`);
          else if (trap) this.#traps.unshift(trap);
          if (code === 0 || code === 3) this.#coverage.count(`operator:${args[0]}`);
          resolve({ code, stdout, stderr });
        },
      );
    });
  }

  /** A command that writes a new file; half a file of an earlier try is removed. */
  async insistOnFile(file: string, ...args: string[]): Promise<CommandResult> {
    return this.#insist([...args, file], () => rm(file, { force: true }));
  }

  /** Again until it is done, because a database may be away at that moment. @throws what it said the last time */
  async insist(...args: string[]): Promise<CommandResult> {
    return this.#insist(args, async () => undefined);
  }

  async #insist(args: readonly string[], prepare: () => Promise<void>): Promise<CommandResult> {
    for (let tries = 1; ; tries++) {
      await prepare();
      const result = await this.run(...args);
      if (result.code === 0 || result.code === 3) return result;
      if (tries === 40 || result.code === 2)
        throw new Error(`waybill ${args.join(' ')} ended with ${result.code}: ${result.stderr}`);
      await sleep(250);
    }
  }
}
