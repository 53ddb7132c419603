import { createRequire, syncBuiltinESMExports } from 'node:module';
import { Readable } from 'node:stream';
import type { Database } from 'better-sqlite3';
import { closeIdle, isIdle, openPooled } from './connections.js';
import { type DiskFault, disk } from './disk.js';
import { Gone, machine, running, type SimProcess } from './machine.js';
import { realFs as filesOf } from './real.js';

// biome-ignore lint/suspicious/noExplicitAny: called by names
const realFs: any = filesOf;

/*
 * Puts the simulated machine in the place of the one that Node shows: clocks, timers, dice, files, signals, processes and
 * SQLite's own clock. Imported before everything else, so that no library keeps the real ones. Code that belongs to no
 * simulated process sees the real files, and the simulated time.
 */

const require = createRequire(import.meta.url);

export const real = {
  now: Date.now.bind(Date),
  performanceNow: performance.now.bind(performance),
  exit: process.exit.bind(process),
  write: process.stdout.write.bind(process.stdout),
  writeError: process.stderr.write.bind(process.stderr),
  setTimeout: globalThis.setTimeout,
  pid: process.pid,
};

const RealDate = Date;
class SimDate extends RealDate {
  constructor(...given: unknown[]) {
    // biome-ignore lint/suspicious/noExplicitAny: whatever Date takes
    super(...((given.length === 0 ? [machine().wallMs] : given) as [any]));
  }

  static override now(): number {
    return machine().wallMs;
  }
}
globalThis.Date = SimDate as DateConstructor;
performance.now = () => machine().monotonicMs;
process.hrtime.bigint = () => BigInt(Math.round(machine().monotonicMs * 1e6));
Math.random = () => machine().random();

// ---- Timers ----------------------------------------------------------------------------------------------------------

class SimTimer {
  #timer: ReturnType<ReturnType<typeof machine>['after']> | null = null;
  readonly #machine = machine();
  readonly #owner = running.getStore() ?? null;

  constructor(
    private readonly ms: number,
    private readonly work: () => void,
    private readonly repeats: boolean,
  ) {
    this.#arm();
  }

  #arm(): void {
    this.#timer = this.#machine.after(Math.max(1, this.ms || 1), this.#owner, () => {
      this.#timer = null;
      if (this.repeats) this.#arm();
      this.work();
    });
  }

  refresh(): this {
    this.cancel();
    this.#arm();
    return this;
  }

  cancel(): void {
    if (this.#timer) this.#machine.cancel(this.#timer);
    this.#timer = null;
  }

  close(): this {
    this.cancel();
    return this;
  }
  ref(): this {
    return this;
  }
  unref(): this {
    return this;
  }
  hasRef(): boolean {
    return true;
  }
  [Symbol.dispose](): void {
    this.cancel();
  }
  [Symbol.toPrimitive](): number {
    return 1;
  }
}

type Work = (...given: unknown[]) => void;
const clear = (timer: unknown) => {
  if (timer instanceof SimTimer) timer.cancel();
};
const timers = require('node:timers');
const timersPromises = require('node:timers/promises');
const patched = {
  setTimeout: (work: Work, ms = 0, ...given: unknown[]) => new SimTimer(ms, () => work(...given), false),
  setInterval: (work: Work, ms = 0, ...given: unknown[]) => new SimTimer(ms, () => work(...given), true),
  clearTimeout: clear,
  clearInterval: clear,
};
Object.assign(globalThis, patched);
Object.assign(timers, patched);

timersPromises.setTimeout = (ms = 0, value: unknown, { signal }: { signal?: AbortSignal } = {}) =>
  new Promise((resolve, reject) => {
    const aborted = () =>
      Object.assign(new Error('The operation was aborted'), { name: 'AbortError', code: 'ABORT_ERR' });
    if (signal?.aborted) return reject(aborted());
    const timer = new SimTimer(
      ms,
      () => {
        signal?.removeEventListener('abort', stop);
        resolve(value);
      },
      false,
    );
    const stop = () => {
      timer.cancel();
      reject(aborted());
    };
    signal?.addEventListener('abort', stop, { once: true });
  });
const realTurn = timersPromises.setImmediate;
timersPromises.setImmediate = (...given: unknown[]) => {
  machine().touch();
  return realTurn(...given);
};
AbortSignal.timeout = (ms) => {
  const controller = new AbortController();
  new SimTimer(ms, () => controller.abort(new DOMException('timed out', 'TimeoutError')), false);
  return controller.signal;
};

// ---- What a process is -----------------------------------------------------------------------------------------------

const own = process;
/** A process's view of itself. The global stands for whichever of them runs; its exit code can't be redefined in place. */
globalThis.process = new Proxy(own, {
  get: (target, name) => {
    const one = running.getStore();
    if (one && name === 'pid') return one.pid;
    if (one && name === 'exitCode') return one.exitCode;
    return Reflect.get(target, name);
  },
  set: (target, name, value) => {
    const one = running.getStore();
    if (!one || name !== 'exitCode') return Reflect.set(target, name, value);
    if (one.isThere) one.exitCode = value;
    return true;
  },
});
/** A daemon has whatever is printed go to its log; no other process may see that. */
const printing = new WeakMap<object, Map<PropertyKey, unknown>>();
globalThis.console = new Proxy(console, {
  get: (target, name) => {
    const one = running.getStore();
    const own = one && printing.get(one);
    return own?.has(name) ? own.get(name) : Reflect.get(target, name);
  },
  set: (target, name, value) => {
    const one = running.getStore();
    if (!one) return Reflect.set(target, name, value);
    const own = printing.get(one) ?? new Map();
    printing.set(one, own.set(name, value));
    return true;
  },
});
process.exit = ((code?: number) => {
  const one = running.getStore();
  if (!one) return real.exit(code);
  return one.exit(code);
}) as typeof process.exit;
process.kill = ((pid: number, signal: string | number) => {
  const target = machine().processes.find((one) => one.pid === pid && one.isThere);
  if (!target) throw Object.assign(new Error('kill ESRCH'), { code: 'ESRCH' });
  if (signal !== 0) target.signal(String(signal));
  return true;
}) as typeof process.kill;

const [on, once, off] = [process.on, process.once, process.off].map((one) => one.bind(process)) as [
  typeof process.on,
  typeof process.once,
  typeof process.off,
];
const isSignal = (event: unknown) => typeof event === 'string' && /^(SIG[A-Z]|exit$|uncaught|warning$)/.test(event);
const handlersOf = (event: unknown) => {
  const one = running.getStore();
  if (!one || !isSignal(event)) return null;
  const handlers = one.signalHandlers.get(String(event)) ?? new Set();
  one.signalHandlers.set(String(event), handlers);
  return handlers;
};
process.on = ((event: string, handler: Work) => {
  const handlers = handlersOf(event);
  if (!handlers) return on(event, handler);
  handlers.add(handler);
  return process;
}) as typeof process.on;
process.addListener = process.on;
process.once = ((event: string, handler: Work) => {
  const handlers = handlersOf(event);
  if (!handlers) return once(event, handler);
  handlers.add(handler);
  return process;
}) as typeof process.once;
process.off = ((event: string, handler: Work) => {
  const handlers = handlersOf(event);
  if (!handlers) return off(event, handler);
  handlers.delete(handler);
  return process;
}) as typeof process.off;
process.removeListener = process.off;
const removeAll = process.removeAllListeners.bind(process);
process.removeAllListeners = ((event?: string) => {
  const one = running.getStore();
  if (!one) return removeAll(event);
  one.signalHandlers.delete(String(event));
  return process;
}) as typeof process.removeAllListeners;

const writeTo = (stream: 'out' | 'err', otherwise: typeof real.write) =>
  ((text: string | Uint8Array, ...more: unknown[]) => {
    const one = running.getStore();
    if (!one) return (otherwise as (...given: unknown[]) => boolean)(text, ...more);
    if (one.isThere) one[stream] += String(text);
    const done = more.find((given) => typeof given === 'function') as (() => void) | undefined;
    if (done) process.nextTick(done);
    return true;
  }) as typeof process.stdout.write;
for (const [name, kind, otherwise] of [
  ['stdout', 'out', real.write],
  ['stderr', 'err', real.writeError],
] as const) {
  const usual = writeTo(kind, otherwise);
  const replaced = new WeakMap<object, unknown>();
  const whose = () => running.getStore() ?? machine;
  Object.defineProperty(process[name], 'write', {
    get: () => replaced.get(whose()) ?? usual,
    set: (write: unknown) => void replaced.set(whose(), write),
  });
}

const os = require('node:os');
os.uptime = () => machine().bootMs / 1000;
os.hostname = () => disk().host;
os.userInfo = () => ({ username: 'operator', uid: 0, gid: 0, shell: '/bin/sh', homedir: '/' });

const childProcess = require('node:child_process');
childProcess.execFile = (file: string, ...given: unknown[]) => {
  const done = given.find((one) => typeof one === 'function') as ((error: Error) => void) | undefined;
  const error = Object.assign(new Error(`spawn ${file} ENOENT`), { code: 'ENOENT' });
  process.nextTick(() => done?.(error));
  return { on: () => undefined, stdin: null };
};

// ---- Servers ---------------------------------------------------------------------------------------------------------

const http = require('node:http');
const listenForReal = http.Server.prototype.listen;
const addressForReal = http.Server.prototype.address;
const closeForReal = http.Server.prototype.close;

/** A server of a simulated process, which listens on no socket. */
export interface Listening {
  owner: SimProcess;
  server: { emit(event: string, ...given: unknown[]): boolean };
}
/** The listeners by port, on the one machine. */
export const listening = new Map<number, Listening>();
const portOf = new WeakMap<object, number>();

http.Server.prototype.listen = function (
  this: Listening['server'] & { once(event: string, work: () => void): void },
  ...given: unknown[]
) {
  const owner = running.getStore();
  if (!owner) return listenForReal.apply(this, given);
  const port = typeof given[0] === 'object' ? (given[0] as { port: number }).port : Number(given[0]);
  const done = given.find((one) => typeof one === 'function') as (() => void) | undefined;
  const taken = listening.get(port);
  if (taken?.owner.isThere) {
    const error = Object.assign(new Error(`listen EADDRINUSE: address already in use 127.0.0.1:${port}`), {
      code: 'EADDRINUSE',
    });
    process.nextTick(() => this.emit('error', error));
    return this;
  }
  listening.set(port, { owner, server: this });
  portOf.set(this, port);
  if (done) this.once('listening', done);
  process.nextTick(() => this.emit('listening'));
  return this;
};
http.Server.prototype.address = function (this: object) {
  const port = portOf.get(this);
  return port === undefined ? addressForReal.call(this) : { address: '127.0.0.1', family: 'IPv4', port };
};
http.Server.prototype.close = function (this: object, done?: () => void) {
  const port = portOf.get(this);
  if (port === undefined) return closeForReal.call(this, done);
  if (listening.get(port)?.server === this) listening.delete(port);
  process.nextTick(() => done?.());
  return this;
};

// ---- Dice ------------------------------------------------------------------------------------------------------------

const crypto = require('node:crypto');
const fill = <T extends ArrayBufferView>(array: T): T => {
  const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
  for (let at = 0; at < bytes.length; at++) bytes[at] = Math.floor(machine().random() * 256);
  return array;
};
const uuid = () => {
  const bytes = fill(Buffer.alloc(16));
  bytes[6] = ((bytes[6] as number) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80;
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
};
crypto.randomUUID = uuid;
crypto.randomBytes = (size: number) => fill(Buffer.alloc(size));
crypto.randomFillSync = fill;
Object.defineProperty(globalThis, 'crypto', {
  value: { ...globalThis.crypto, subtle: globalThis.crypto.subtle, getRandomValues: fill, randomUUID: uuid },
});

// ---- Files -----------------------------------------------------------------------------------------------------------

const fs = require('node:fs');
const fsPromises = require('node:fs/promises');

function fault(code: DiskFault, path: unknown): Error {
  return Object.assign(new Error(`${code}: simulated, '${String(path)}'`), { code, syscall: 'write', path });
}

/** The system's view of its processes. */
function told(path: string): string | null {
  const one = running.getStore();
  if (!one) return null;
  if (path === '/proc/sys/kernel/random/boot_id') return '00000000-0000-0000-0000-000000000001\n';
  if (path === '/etc/machine-id') return `${disk().host.padEnd(32, '0')}\n`;
  const pid = /^\/proc\/(self|\d+)\/stat$/.exec(path)?.[1];
  if (pid === undefined) return null;
  const found =
    pid === 'self' ? one : machine().processes.find(({ pid: other, isThere }) => String(other) === pid && isThere);
  if (!found) throw Object.assign(new Error(`ENOENT: ${path}`), { code: 'ENOENT' });
  return `${found.pid} (node) S ${Array.from({ length: 18 }, () => 0).join(' ')} ${found.pid * 7} 0`;
}

const readers = [
  'readFileSync',
  'statSync',
  'lstatSync',
  'readdirSync',
  'accessSync',
  'existsSync',
  'readlinkSync',
  'statfsSync',
];
const writers = [
  'writeFileSync',
  'mkdirSync',
  'unlinkSync',
  'rmSync',
  'renameSync',
  'linkSync',
  'chmodSync',
  'copyFileSync',
  'mkdtempSync',
  'appendFileSync',
  'rmdirSync',
];
/** Files that were opened to be written. */
const written = new Map<number, string>();

for (const name of readers)
  fs[name] = (path: unknown, ...more: unknown[]) => {
    const one = running.getStore();
    if (one) {
      one.mustBeThere();
      machine().touch();
      if (name === 'readFileSync' && typeof path === 'string') {
        const text = told(path);
        if (text !== null) return more.length > 0 ? text : Buffer.from(text);
      }
      if (name === 'readlinkSync' && path === '/proc/self/ns/pid') return 'pid:[1]';
      const code = disk().faultAt(String(path), 'read');
      if (code) throw fault(code, path);
    }
    return realFs[name](path, ...more);
  };
const mayWrite = (path: unknown) => {
  const one = running.getStore();
  if (!one) return;
  one.mustBeThere();
  machine().touch();
  const code = disk().faultAt(String(path), 'write');
  if (code) throw fault(code, path);
};
for (const name of writers)
  fs[name] = (path: unknown, ...more: unknown[]) => {
    if (/^(unlink|rm|rename|copyFile|link)Sync$/.test(name) && [path, more[0]].some((one) => isIdle(String(one))))
      closeIdle();
    if (typeof path !== 'number' && !(name === 'mkdirSync' && realFs.existsSync(path))) mayWrite(path);
    return realFs[name](path, ...more);
  };
fs.openSync = (path: string, flags: string | number = 'r', ...more: unknown[]) => {
  const writes = typeof flags === 'string' && /[wa+]/.test(flags);
  if (writes) mayWrite(path);
  const descriptor = realFs.openSync(path, flags, ...more);
  if (writes) written.set(descriptor, path);
  return descriptor;
};
fs.closeSync = (descriptor: number) => {
  written.delete(descriptor);
  return realFs.closeSync(descriptor);
};
fs.writeSync = (descriptor: number, ...more: unknown[]) => {
  const path = written.get(descriptor);
  if (path !== undefined) mayWrite(path);
  return realFs.writeSync(descriptor, ...more);
};
fs.access = (path: unknown, ...more: unknown[]) => {
  const done = more.at(-1) as (error: unknown) => void;
  let error: unknown = null;
  try {
    realFs.accessSync(path);
  } catch (caught) {
    error = caught;
  }
  process.nextTick(() => done(error));
};
fs.createReadStream = (
  path: string,
  options: { encoding?: BufferEncoding; start?: number; end?: number } | BufferEncoding = {},
) => {
  const { encoding, start = 0, end } = typeof options === 'string' ? { encoding: options } : options;
  const stream = new Readable({
    read() {
      try {
        const bytes = fs.readFileSync(path) as Buffer;
        this.push(bytes.subarray(start, end === undefined ? undefined : end + 1));
        this.push(null);
      } catch (error) {
        this.destroy(error as Error);
      }
    },
  });
  if (encoding) stream.setEncoding(encoding);
  return stream;
};

class SimFile {
  constructor(
    readonly fd: number,
    private readonly path: string,
  ) {}

  async writeFile(content: string | Uint8Array): Promise<void> {
    mayWrite(this.path);
    realFs.writeFileSync(this.fd, content);
  }
  appendFile(content: string | Uint8Array): Promise<void> {
    return this.writeFile(content);
  }
  async write(content: string | Uint8Array, ...more: unknown[]) {
    mayWrite(this.path);
    return { bytesWritten: realFs.writeSync(this.fd, content, ...more), buffer: content };
  }
  async read(buffer: Uint8Array, ...more: unknown[]) {
    return { bytesRead: realFs.readSync(this.fd, buffer, ...more), buffer };
  }
  async readFile(...given: unknown[]) {
    return realFs.readFileSync(this.fd, ...given);
  }
  async stat() {
    return realFs.fstatSync(this.fd);
  }
  async chmod(mode: number) {
    realFs.fchmodSync(this.fd, mode);
  }
  async sync(): Promise<void> {
    await running.getStore()?.pass();
  }
  datasync(): Promise<void> {
    return this.sync();
  }
  async close(): Promise<void> {
    fs.closeSync(this.fd);
  }
}

for (const name of [
  'readFile',
  'writeFile',
  'rename',
  'rm',
  'link',
  'lstat',
  'stat',
  'readdir',
  'mkdir',
  'mkdtemp',
  'access',
  'statfs',
  'unlink',
  'chmod',
  'copyFile',
  'appendFile',
]) {
  const sync = `${name}Sync`;
  fsPromises[name] = async (...given: unknown[]) => {
    await running.getStore()?.pass();
    return fs[sync](...given);
  };
}
fsPromises.open = async (path: string, flags = 'r', ...more: unknown[]) => {
  await running.getStore()?.pass();
  return new SimFile(fs.openSync(path, flags, ...more), path);
};
Object.assign(fs.promises, fsPromises);

// ---- SQLite ----------------------------------------------------------------------------------------------------------

const driver = Number(process.versions.napi) >= 10 ? 'better-sqlite3-13' : 'better-sqlite3';
const RealDatabase = require(driver);

/** Opens a file as the driver does, with the machine's clock in it, and for as long as the process is there. */
function SimDatabase(file: string, options: Record<string, unknown> = {}): Database {
  const one = running.getStore();
  if (one) {
    one.mustBeThere();
    machine().touch();
    const code = file === ':memory:' ? null : disk().faultAt(file, options.readonly ? 'read' : 'open');
    if (code) throw Object.assign(new RealDatabase.SqliteError(`unable to open ${file}`, 'SQLITE_CANTOPEN'));
  }
  const database = openPooled(file, options.readonly ? 'to read' : 'to write', () => open(file, options));
  if (one) {
    one.databases.add(database);
    disk().opened(file, database);
  }
  return database;
}

function open(file: string, options: Record<string, unknown> = {}): Database {
  const database: Database = new RealDatabase(file, { ...options, timeout: 0 });
  const whose = machine();
  database.function('julianday', (moment) => {
    if (moment !== 'now') throw new Error('only for now');
    return whose.wallMs / 86_400_000 + 2_440_587.5;
  });
  database.function('strftime', { varargs: true }, (format, moment) => {
    if (moment !== 'now' || format !== '%Y-%m-%d %H:%M:%f000') throw new Error(`strftime ${format}`);
    return `${new RealDate(whose.erpMs).toISOString().replace('T', ' ').slice(0, 23)}000`;
  });
  return database;
}
SimDatabase.prototype = RealDatabase.prototype;
Object.setPrototypeOf(SimDatabase, RealDatabase);
SimDatabase.SqliteError = RealDatabase.SqliteError;
for (const name of ['better-sqlite3', 'better-sqlite3-13']) {
  try {
    const entry = require.cache[require.resolve(name)];
    if (entry) entry.exports = SimDatabase;
  } catch {
    // The other one is not installed.
  }
}

process.on('unhandledRejection', (error) => {
  if (error instanceof Gone || running.getStore()) return;
  if (/no longer there|not open/.test(String((error as Error)?.message))) return;
  real.writeError(`unhandled: ${(error as Error)?.stack ?? error}\n`);
});

syncBuiltinESMExports();

/** Opens a file past the simulation. */
export function openReal(file: string): Database {
  return openPooled(file, 'past the simulation', () => new RealDatabase(file, { timeout: 0 }) as Database);
}
export { closeIdle, filesOf as realFs };
