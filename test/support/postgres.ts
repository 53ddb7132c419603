import { execFile, execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chown, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client, types } from 'pg';
import { createTestDatabase, createTestUser, type TestDatabase, type TestUser } from './postgres-database.js';
import {
  type Account,
  onFreePort,
  requireExecutable,
  type ServerProcess,
  startServerProcess,
} from './server-process.js';
import { startWatchdog, type Watchdog } from './watchdog.js';

const ROOT_USER = 'postgres';

/** A private PostgreSQL server: own data folder, own port on loopback, gone when this process is gone. */
export interface Postgres {
  readonly host: '127.0.0.1';
  readonly port: number;
  readonly rootUser: string;
  readonly rootPassword: string;
  readonly dataDir: string;
  /** The server's own log, for a test that wants to know why. */
  readonly logFile: string;
  readonly isRunning: boolean;
  /** A connection as root, with numeric, bigint, dates and times as strings. The caller ends it. */
  connect(database?: string): Promise<Client>;
  /** A new, empty database, and the account that owns it. A random name unless one is given. */
  createDatabase(name?: string): Promise<TestDatabase>;
  /** An account without rights in any table yet: a database's own `createUser` grants some. */
  createUser(): Promise<TestUser>;
  /** As `kill -9`, or a power cut to the process: what was not durable is lost. Resolves when it is gone. */
  kill(): Promise<void>;
  /** Freezes the server: connections stay open and nothing answers. `resume` thaws it. Resolves when it stands still. */
  pause(): Promise<void>;
  resume(): void;
  /** Starts it again, on the same port and data: after `kill`, or in place of a clean shutdown and start. */
  restart(): Promise<void>;
  /** Stops the server and removes its data. Safe to call twice. */
  stop(): Promise<void>;
}

export interface PostgresOptions {
  /** Further settings, such as `fsync=off`; they win over ours. */
  settings?: readonly string[];
}

/** Starts a private server on data of its own. Nothing that already runs on this machine is used or touched. */
export async function startPostgres(options: PostgresOptions = {}): Promise<Postgres> {
  const baseDir = await mkdtemp(join(tmpdir(), 'waybill-postgres-'));
  const watchdog = startWatchdog(baseDir);
  try {
    return await launch(baseDir, watchdog, options);
  } catch (error) {
    await watchdog.release();
    throw error;
  }
}

async function launch(baseDir: string, watchdog: Watchdog, options: PostgresOptions): Promise<Postgres> {
  const executable = requireExecutable('postgres', 'postgresql');
  const account = unprivilegedAccount();
  if (account) await chown(baseDir, account.uid, account.gid);
  const dataDir = join(baseDir, 'data');
  const logFile = join(baseDir, 'postgres.log');
  const rootPassword = randomUUID();
  await installDataFolder(baseDir, dataDir, rootPassword, account);

  const run = (port: number): Promise<ServerProcess> =>
    startServerProcess(
      {
        executable,
        arguments: ['-D', dataDir, ...settings(baseDir, port, options.settings).flatMap((setting) => ['-c', setting])],
        logFile,
        account,
        // Ends the sessions; SIGTERM would wait until each has left.
        stopSignal: 'SIGINT',
        connect: () => connectAsRoot(port, rootPassword),
      },
      watchdog,
    );

  const first = await onFreePort(run);
  const { port } = first;
  let server = first.server;
  let stopped: Promise<void> | undefined;

  const postgres: Postgres = {
    host: '127.0.0.1',
    port,
    rootUser: ROOT_USER,
    rootPassword,
    dataDir,
    logFile,
    get isRunning() {
      return server.isRunning;
    },
    connect: (database) => connectAsRoot(port, rootPassword, database),
    createDatabase: (name) => createTestDatabase(postgres, name),
    createUser: () => createTestUser(postgres),
    kill: () => server.kill(),
    pause: () => server.pause(),
    resume: () => server.resume(),
    async restart() {
      await server.shutDown();
      server = await run(port);
    },
    stop() {
      stopped ??= server.shutDown().then(() => watchdog.release());
      return stopped;
    },
  };
  return postgres;
}

/** PostgreSQL refuses to run as root; the account has nothing but what it is given here. */
function unprivilegedAccount(): Account | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const [uid = 0, gid = 0] = ['-u', '-g'].map((which) =>
    Number(execFileSync('id', [which, 'nobody'], { encoding: 'utf8' })),
  );
  return { uid, gid };
}

/** Sorts as an office's language does, as most servers do: text that must compare letter by letter has to say so. */
async function installDataFolder(
  baseDir: string,
  dataDir: string,
  rootPassword: string,
  account: Account | undefined,
): Promise<void> {
  const passwordFile = join(baseDir, 'root-password');
  await writeFile(passwordFile, rootPassword, { mode: 0o600 });
  if (account) await chown(passwordFile, account.uid, account.gid);
  try {
    await promisify(execFile)(
      requireExecutable('initdb', 'postgresql'),
      [
        `--pgdata=${dataDir}`,
        `--username=${ROOT_USER}`,
        `--pwfile=${passwordFile}`,
        '--auth=scram-sha-256',
        '--encoding=UTF8',
        '--locale=C',
        '--locale-provider=icu',
        '--icu-locale=en-US',
        '--no-sync',
      ],
      { ...account, cwd: baseDir },
    );
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string };
    throw new Error(`Could not prepare a PostgreSQL data folder in ${dataDir}.\n${stderr}${stdout}`, { cause: error });
  }
  await rm(passwordFile);
}

/** Durable like production (a kill must lose nothing that was committed), but small. */
function settings(baseDir: string, port: number, more: readonly string[] = []): string[] {
  return [
    'listen_addresses=127.0.0.1',
    `port=${port}`,
    `unix_socket_directories=${baseDir}`,
    // In the data folder, where a kill leaves it to be removed with the rest.
    'dynamic_shared_memory_type=mmap',
    'max_connections=200',
    'shared_buffers=32MB',
    'max_wal_size=128MB',
    // An office's server keeps its own time: a session that needs UTC has to say so.
    'timezone=America/New_York',
    ...more,
  ];
}

/** Types whose value a JavaScript number or Date would bend: int8, date, timestamp, timestamptz. */
const asText = new Set<number>([
  types.builtins.INT8,
  types.builtins.DATE,
  types.builtins.TIMESTAMP,
  types.builtins.TIMESTAMPTZ,
]);

async function connectAsRoot(port: number, password: string, database = 'postgres'): Promise<Client> {
  const client = new Client({
    host: '127.0.0.1',
    port,
    user: ROOT_USER,
    password,
    database,
    connectionTimeoutMillis: 5_000,
    types: {
      getTypeParser: ((oid: number, format?: 'text') =>
        asText.has(oid) ? String : types.getTypeParser(oid, format)) as typeof types.getTypeParser,
    },
  });
  // A server that is killed ends the session: the next query says so.
  client.on('error', () => undefined);
  await client.connect();
  return client;
}
