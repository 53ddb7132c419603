import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Connection, createConnection } from 'mysql2/promise';

const START_TIMEOUT_MS = 60_000;
const CONNECT_INTERVAL_MS = 20;

/** How to start one mariadbd, and how to tell that it is this one that answers. */
export interface MariaDbCommand {
  executable: string;
  arguments: readonly string[];
  logFile: string;
  port: number;
  rootUser: string;
  rootPassword: string;
}

/** One run of mariadbd, from its start to its exit. */
export interface MariaDbProcess {
  readonly processId: number;
  readonly isRunning: boolean;
  signal(name: NodeJS.Signals): void;
  /** Resolves when the process is gone, however it ended; doesn't keep this process alive until then. */
  readonly exited: Promise<void>;
  /** Waits until the process is gone. */
  exit(): Promise<void>;
}

/**
 * Starts mariadbd and resolves when it takes connections of its root user. The password is random, so a stranger
 * that took the port in between can't be mistaken for it.
 * @param onSpawn is told the process id at once, before the server is ready.
 */
export async function startMariaDbProcess(
  command: MariaDbCommand,
  onSpawn: (processId: number) => void,
): Promise<MariaDbProcess> {
  const log = openSync(command.logFile, 'a', 0o600);
  const child = spawn(command.executable, command.arguments, { stdio: ['ignore', log, log] });
  closeSync(log);
  const exited = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  });
  if (child.pid === undefined) throw new Error(`Could not start ${command.executable}.`);
  onSpawn(child.pid);
  // The watchdog ends the server with us; a benchmark that forgot stop() must still be able to exit.
  child.unref();

  const server: MariaDbProcess = {
    processId: child.pid,
    get isRunning() {
      return isRunning(child);
    },
    signal: (name) => void child.kill(name),
    exited,
    async exit() {
      // Unlike at any other time, somebody waits for this child now.
      child.ref();
      await exited;
    },
  };
  await waitUntilReady(command, server);
  return server;
}

function isRunning(child: ChildProcess): boolean {
  return child.exitCode === null && child.signalCode === null;
}

async function waitUntilReady(command: MariaDbCommand, server: MariaDbProcess): Promise<void> {
  const deadline = performance.now() + START_TIMEOUT_MS;
  let lastError: unknown;
  while (server.isRunning && performance.now() < deadline) {
    try {
      const connection = await connectAsRoot(command);
      await connection.end();
      return;
    } catch (error) {
      lastError = error;
      await sleep(CONNECT_INTERVAL_MS);
    }
  }
  server.signal('SIGKILL');
  const log = readFileSync(command.logFile, 'utf8').split('\n').slice(-15).join('\n');
  throw new Error(`mariadbd did not become ready. The end of its log:\n${log}`, { cause: lastError });
}

/** Decimals, dates and integers beyond 2^53 arrive as strings: a test must see what is really stored. */
export function connectAsRoot(
  server: Pick<MariaDbCommand, 'port' | 'rootUser' | 'rootPassword'>,
  database?: string,
): Promise<Connection> {
  return createConnection({
    host: '127.0.0.1',
    port: server.port,
    user: server.rootUser,
    password: server.rootPassword,
    ...(database === undefined ? {} : { database }),
    dateStrings: true,
    supportBigNumbers: true,
    bigNumberStrings: false,
    multipleStatements: true,
    connectTimeout: 5_000,
  });
}
