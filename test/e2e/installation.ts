import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { sampleErpMapping } from '../../src/lab/sample-erp/create-sample-erp.js';
import type { TestDatabase } from '../support/mariadb-database.js';
import { runHere } from '../support/run-here.js';

/** Names that would be a scandal in any output; the tests look for them everywhere. */
export const canary = {
  token: 'canary-token-5d1f0c7e',
  erpPassword: 'canary-erp-81b2f6aa',
  storePassword: 'canary-store-c44e9b10',
};

/** Variables that mean nothing to a command. */
const everyProcessHas = new Set(['PATH', 'HOME', 'TMPDIR', 'NODE_ENV']);

type ServerDatabase = Pick<TestDatabase, 'host' | 'port' | 'database'>;

export interface InstallationOptions {
  /** A folder of its own. */
  folder: string;
  serviceUrl: string;
  erp:
    | { type: 'sqlite'; file: string }
    | { type: 'mysql' | 'postgres'; database: ServerDatabase; user: string; password: string };
  store:
    | { type: 'sqlite' }
    | { type: 'mysql' | 'postgres'; database: ServerDatabase & { user: string; password: string } };
  /** Sections put over the sample's. */
  settings?: Record<string, unknown>;
  /** The ERP's settings; the sample's unless others are given. */
  timeZone?: string;
  token?: string;
  /** The folder of another version, which is built. Absent: this one. */
  version?: string | undefined;
  /** Flags of Node. Absent: traces name lines of the sources, which takes some 10 MiB. */
  nodeFlags?: string[];
}

/** The store of an installation: in this database, or in a file where there is none. */
export function storeIn(
  type: InstallationOptions['store']['type'],
  database: (ServerDatabase & { user: string; password: string }) | undefined,
): InstallationOptions['store'] {
  return type === 'sqlite' || database === undefined ? { type: 'sqlite' } : { type, database };
}

export interface Run {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** A command that ran as a process of its own. */
export interface ProcessRun extends Run {
  /** Highest resident set of the process, in MiB. */
  peakRssMiB: number;
}

export interface Daemon {
  pid: number;
  /** Every line of its log so far. */
  lines: { message: string; [name: string]: unknown }[];
  output(): string;
  /** Resolves with the first line (from now or before) that fits. */
  line(fits: (line: { message: string; [name: string]: unknown }) => boolean, withinMs?: number): Promise<void>;
  kill(signal: NodeJS.Signals): void;
  /** Resolves with the exit code, or the signal's name. */
  ended: Promise<number | string>;
}

/** A configured Waybill in a folder of its own. Daemons are real processes, and so are the commands that `start` runs. */
export class Installation {
  readonly configDir: string;
  readonly env: NodeJS.ProcessEnv;

  constructor(readonly options: InstallationOptions) {
    this.configDir = join(options.folder, 'config');
    mkdirSync(this.configDir, { recursive: true });
    this.env = {
      PATH: process.env.PATH,
      HOME: options.folder,
      TMPDIR: process.env.TMPDIR,
      NODE_ENV: 'production',
      WAYBILL_SERVICE_TOKEN: options.token ?? canary.token,
    };
    const { erp, store } = options;
    const sections: Record<string, unknown> = {
      ...sampleErpMapping,
      installation: 'e2e-test',
      service: { environment: 'sandbox', baseUrl: options.serviceUrl },
      store: { type: 'sqlite', file: join(options.folder, 'waybill.sqlite') },
      ...options.settings,
    };
    if (erp.type === 'sqlite') sections.erp = { ...sampleErpMapping.erp, type: 'sqlite', file: erp.file };
    else {
      const { host, port, database } = erp.database;
      const { timeZone = sampleErpMapping.erp.timeZone } = options;
      sections.erp = { timeZone, type: erp.type, host, port, database, user: erp.user };
      this.env.WAYBILL_ERP_PASSWORD = erp.password;
    }
    if (store.type !== 'sqlite') {
      const { host, port, database, user, password } = store.database;
      sections.store = { type: store.type, host, port, database, user };
      this.env.WAYBILL_STORE_PASSWORD = password;
    }
    // More than any test sends: what is not about the pace must not wait for it.
    const service = {
      limits: [{ requests: 1_000, perSeconds: 1 }],
      // The sandbox has done what it does when a request ends here.
      maxProcessingSeconds: 0.001,
      ...(sections.service as { idempotency?: object }),
    };
    // As long as the sandbox remembers keys.
    sections.service = { ...service, idempotency: { lifetimeHours: 24, ...service.idempotency } };
    // JSON is YAML, and needs no writer.
    writeFileSync(join(this.configDir, 'local.yaml'), JSON.stringify(sections, null, 2));
  }

  get storeFile(): string {
    return join(this.options.folder, 'waybill.sqlite');
  }

  /** Runs a command to its end: in this process, unless it needs another version, flags of Node, or variables such as NODE_OPTIONS. */
  run(...args: string[]): Promise<Run> {
    const { version, nodeFlags } = this.options;
    const ours = Object.entries(this.env).filter(([name]) => name.startsWith('WAYBILL_'));
    const others = Object.keys(this.env).filter((name) => !name.startsWith('WAYBILL_') && !everyProcessHas.has(name));
    if (version || nodeFlags || others.length > 0) return this.start(...args).ended;
    return runHere([...args, '--config', this.configDir], { env: Object.fromEntries(ours), cwd: this.options.folder });
  }

  /** Runs a command as a process that can be killed. */
  start(...args: string[]): { kill(signal: NodeJS.Signals): void; ended: Promise<ProcessRun> } {
    const child = this.#spawn(args);
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text) => {
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text) => {
      stderr += text;
    });
    let peakRssMiB = 0;
    const sample = setInterval(() => {
      peakRssMiB = Math.max(peakRssMiB, peakRss(child.pid));
    }, 100);
    const ended = once(child, 'close').then(([code]: (number | null)[]): ProcessRun => {
      clearInterval(sample);
      return { code: code ?? null, stdout, stderr, peakRssMiB };
    });
    return { kill: (signal) => child.kill(signal), ended };
  }

  daemon(): Daemon {
    const child = this.#spawn(['daemon']);
    const lines: Daemon['lines'] = [];
    const waiting = new Set<() => void>();
    let output = '';
    createInterface({ input: child.stdout }).on('line', (text) => {
      output += `${text}\n`;
      try {
        lines.push(JSON.parse(text));
      } catch {
        lines.push({ message: text });
      }
      for (const look of waiting) look();
    });
    child.stderr.setEncoding('utf8').on('data', (text) => {
      output += text;
    });
    return {
      pid: child.pid as number,
      lines,
      output: () => output,
      line: (fits, withinMs = 20_000) =>
        new Promise((resolve, reject) => {
          const timer = setTimeout(() => {
            waiting.delete(look);
            reject(new Error(`The daemon did not say it within ${withinMs} ms:\n${output}`));
          }, withinMs);
          const look = () => {
            if (!lines.some(fits)) return;
            clearTimeout(timer);
            waiting.delete(look);
            resolve();
          };
          waiting.add(look);
          look();
        }),
      kill: (signal) => child.kill(signal),
      ended: once(child, 'close').then(([code, signal]) => code ?? signal),
    };
  }

  #spawn(args: string[]) {
    const { nodeFlags = [], version } = this.options;
    const main = version
      ? join(version, 'dist/src/main.js')
      : fileURLToPath(new URL('../../src/main.js', import.meta.url));
    return spawn(process.execPath, [...nodeFlags, main, ...args, '--config', this.configDir], {
      cwd: this.options.folder,
      env: this.env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  }
}

export function peakRss(pid: number | undefined): number {
  try {
    const kib = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return Number(kib ?? 0) / 1024;
  } catch {
    return 0;
  }
}

/** Waits until `look` gives something, looking often; fails with `what` when it takes too long. */
export async function eventually<T>(
  what: string,
  look: () => T | null | undefined | false | Promise<T | null | undefined | false>,
  withinMs = 20_000,
): Promise<T> {
  const endsAt = performance.now() + withinMs;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (performance.now() > endsAt) throw new Error(`It did not happen within ${withinMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
