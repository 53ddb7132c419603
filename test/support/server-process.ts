import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findExecutable } from './find-executable.js';
import { freePort } from './free-port.js';
import { waitFor } from './wait-for.js';
import type { Watchdog } from './watchdog.js';

const START_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 15_000;
const START_ATTEMPTS = 3;
const CONNECT_INTERVAL_MS = 20;

/** The start of one server, and the proof that it is this one that answers. */
export interface ServerCommand {
  executable: string;
  arguments: readonly string[];
  /** Its own environment and working directory; by default those of this process. */
  place?: { env: NodeJS.ProcessEnv; cwd: string };
  logFile: string;
  /** The account that it runs as, where it refuses ours. */
  account?: Account | undefined;
  /** The signal that makes it end its sessions and stop. */
  stopSignal: NodeJS.Signals;
  /** Connects with a password that only this server knows; rejects until it can. */
  connect(): Promise<{ end(): Promise<unknown> }>;
}

export interface Account {
  uid: number;
  gid: number;
}

/** One run of a server, from its start to its exit. */
export interface ServerProcess {
  readonly isRunning: boolean;
  /** As `kill -9`, or a power cut to the process and its children. Resolves when they are gone. */
  kill(): Promise<void>;
  /** Freezes it and its children. Resolves when they stand still. */
  pause(): Promise<void>;
  resume(): void;
  /** A clean end; after a while by force. */
  shutDown(): Promise<void>;
}

/**
 * Starts a server and resolves when it takes connections of its root user. The password is random, so a stranger
 * that took the port in between can't be mistaken for it.
 */
export async function startServerProcess(command: ServerCommand, watchdog: Watchdog): Promise<ServerProcess> {
  const log = openSync(command.logFile, 'a', 0o600);
  const child = spawn(command.executable, command.arguments, {
    stdio: ['ignore', log, log],
    ...command.account,
    ...command.place,
  });
  closeSync(log);
  const exited = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  });
  if (child.pid === undefined) throw new Error(`Could not start ${command.executable}.`);
  const processId = child.pid;
  watchdog.guard(processId);
  // A process id is used again one day: the watchdog must not shoot a stranger.
  void exited.then(() => watchdog.forget(processId));
  // The watchdog ends the server with us; a benchmark that forgot stop() must still be able to exit.
  child.unref();

  /** Waits until the process is gone. Unlike at any other time, somebody waits for this child now. */
  const exit = (): Promise<void> => {
    child.ref();
    return exited;
  };
  const signalChildren = (name: NodeJS.Signals): number[] => {
    const children = childrenOf(processId);
    for (const id of children) signal(id, name);
    return children;
  };
  /** The server first: one that stands still starts no further child. */
  const freeze = async (): Promise<number[]> => {
    child.kill('SIGSTOP');
    await waitFor('the server stands still', () => standsStill(processId));
    return signalChildren('SIGSTOP');
  };

  const server: ServerProcess = {
    get isRunning() {
      return isRunning(child);
    },
    async kill() {
      if (!isRunning(child)) return;
      const children = await freeze();
      for (const id of [...children, processId]) signal(id, 'SIGKILL');
      await exit();
      await waitFor('the children of the server are gone', () => children.every((id) => !isAlive(id)));
    },
    async pause() {
      for (const id of await freeze()) await waitFor('the server stands still', () => standsStill(id));
    },
    resume() {
      signalChildren('SIGCONT');
      child.kill('SIGCONT');
    },
    async shutDown() {
      if (!isRunning(child)) return;
      server.resume();
      child.kill(command.stopSignal);
      const patience = new AbortController();
      await Promise.race([
        exit(),
        sleep(STOP_TIMEOUT_MS, undefined, { signal: patience.signal }).catch(() => undefined),
      ]);
      patience.abort();
      await server.kill();
    },
  };
  await waitUntilReady(command, child);
  return server;
}

/** A free port may be taken between looking and using it, so a failed start is tried again on another. */
export async function onFreePort<T>(start: (port: number) => Promise<T>): Promise<{ port: number; server: T }> {
  for (let attempt = 1; ; attempt++) {
    const port = await freePort();
    try {
      return { port, server: await start(port) };
    } catch (error) {
      if (attempt === START_ATTEMPTS) throw error;
    }
  }
}

export function requireExecutable(name: string, debianPackage: string): string {
  const file = findExecutable(name);
  if (file === undefined) throw new Error(`${name} is not installed. Try: apt-get install ${debianPackage}`);
  return file;
}

function isRunning(child: ChildProcess): boolean {
  return child.exitCode === null && child.signalCode === null;
}

async function waitUntilReady(command: ServerCommand, child: ChildProcess): Promise<void> {
  const deadline = performance.now() + START_TIMEOUT_MS;
  let lastError: unknown;
  while (isRunning(child) && performance.now() < deadline) {
    try {
      const connection = await command.connect();
      await connection.end();
      return;
    } catch (error) {
      lastError = error;
      await sleep(CONNECT_INTERVAL_MS);
    }
  }
  child.kill('SIGKILL');
  const log = readFileSync(command.logFile, 'utf8').split('\n').slice(-15).join('\n');
  throw new Error(`${command.executable} did not become ready. The end of its log:\n${log}`, { cause: lastError });
}

/** PostgreSQL serves each session in a process of its own; MariaDB has none. */
function childrenOf(processId: number): number[] {
  const processes = existsSync('/proc') ? readdirSync('/proc') : [];
  return processes
    .filter((name) => /^\d+$/.test(name) && Number(/\) \S (\d+)/.exec(stat(name))?.[1]) === processId)
    .map(Number);
}

function isAlive(processId: number): boolean {
  return !['', 'Z'].includes(/\) (\S)/.exec(stat(processId))?.[1] ?? '');
}

function stat(processId: number | string): string {
  try {
    return readFileSync(`/proc/${processId}/stat`, 'utf8');
  } catch {
    return ''; // It has ended.
  }
}

function signal(processId: number, name: NodeJS.Signals): void {
  try {
    process.kill(processId, name);
  } catch {
    // It ended in between.
  }
}

/** A thread stops when it next gets a processor: on a busy machine, another one answers until then. */
async function standsStill(processId: number): Promise<boolean> {
  const threads = `/proc/${processId}/task`;
  // One that ends in between, or a whole process, has no more to say.
  const ids = await readdir(threads).catch(() => []);
  const states = await Promise.all(ids.map((id) => readFile(join(threads, id, 'stat'), 'utf8').catch(() => '')));
  return states.every((line) => /\) T /.test(line) || line === '');
}
