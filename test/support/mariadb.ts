import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Connection, createConnection } from 'mysql2/promise';
import { createTestDatabase, createTestUser, type TestDatabase, type TestUser } from './mariadb-database.js';
import { onFreePort, requireExecutable, type ServerProcess, startServerProcess } from './server-process.js';
import { startWatchdog, type Watchdog } from './watchdog.js';

const ROOT_USER = 'root';

/** A private MariaDB server: own data folder, own port on loopback, gone when this process is gone. */
export interface MariaDb {
  readonly host: '127.0.0.1';
  readonly port: number;
  readonly socketPath: string;
  readonly rootUser: string;
  readonly rootPassword: string;
  readonly dataDir: string;
  /** The server's own log, for a test that wants to know why. */
  readonly logFile: string;
  readonly isRunning: boolean;
  /** A connection as root, with DECIMAL, dates and huge integers as strings. The caller ends it. */
  connect(database?: string): Promise<Connection>;
  /** A new, empty database with an account that may do everything in it. A random name unless one is given. */
  createDatabase(name?: string): Promise<TestDatabase>;
  /** An account with exactly these grants, each as in `SELECT ON erp.*` or `UPDATE (mark) ON erp.orders`. */
  createUser(grants: readonly string[]): Promise<TestUser>;
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

export interface MariaDbOptions {
  /** Further options for mariadbd, such as `--innodb-buffer-pool-size=1G`; they win over ours. */
  arguments?: readonly string[];
}

/** Starts a private server on data of its own. Nothing that already runs on this machine is used or touched. */
export async function startMariaDb(options: MariaDbOptions = {}): Promise<MariaDb> {
  const baseDir = await mkdtemp(join(tmpdir(), 'waybill-mariadb-'));
  const watchdog = startWatchdog(baseDir);
  try {
    return await launch(baseDir, watchdog, options);
  } catch (error) {
    await watchdog.release();
    throw error;
  }
}

async function launch(baseDir: string, watchdog: Watchdog, options: MariaDbOptions): Promise<MariaDb> {
  const executable = requireExecutable('mariadbd', 'mariadb-server');
  const dataDir = join(baseDir, 'data');
  const logFile = join(baseDir, 'mariadbd.log');
  // A socket's path may have no more than 107 bytes, so it lies as near to the top as it can.
  const socketPath = join(baseDir, 's');
  const rootPassword = randomUUID();
  const firstStartFile = join(baseDir, 'first-start.sql');
  await writeFile(firstStartFile, firstStartSql(rootPassword), { mode: 0o600 });
  // A server that starts removes the temporary tables in its folder for such, those of another that runs included.
  const temporaryDir = join(baseDir, 'tmp');
  await mkdir(temporaryDir);
  await installDataFolder(dataDir, temporaryDir);

  const run = (port: number, more: readonly string[] = []): Promise<ServerProcess> =>
    startServerProcess(
      {
        executable,
        arguments: [...serverArguments(dataDir, temporaryDir, socketPath, port), ...more, ...(options.arguments ?? [])],
        logFile,
        stopSignal: 'SIGTERM',
        connect: () => connectAsRoot(port, rootPassword),
      },
      watchdog,
    );

  const first = await onFreePort((port) => run(port, [`--init-file=${firstStartFile}`]));
  const { port } = first;
  let server = first.server;
  let stopped: Promise<void> | undefined;

  const mariaDb: MariaDb = {
    host: '127.0.0.1',
    port,
    socketPath,
    rootUser: ROOT_USER,
    rootPassword,
    dataDir,
    logFile,
    get isRunning() {
      return server.isRunning;
    },
    connect: (database) => connectAsRoot(port, rootPassword, database),
    createDatabase: (name) => createTestDatabase(mariaDb, name),
    createUser: (grants) => createTestUser(mariaDb, grants),
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
  return mariaDb;
}

/**
 * `--user` is left out on purpose: with it, the script also changes the owner of the system's own plugin files.
 * The option files of the machine's MariaDB are not read, here or later: they belong to another server.
 */
async function installDataFolder(dataDir: string, temporaryDir: string): Promise<void> {
  const script = requireExecutable('mariadb-install-db', 'mariadb-server');
  try {
    await promisify(execFile)(script, [
      '--no-defaults',
      `--datadir=${dataDir}`,
      `--tmpdir=${temporaryDir}`,
      '--auth-root-authentication-method=normal',
      '--skip-test-db',
      '--innodb-log-file-size=32M',
    ]);
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string };
    throw new Error(`Could not prepare a MariaDB data folder in ${dataDir}.\n${stderr}${stdout}`, { cause: error });
  }
}

function firstStartSql(rootPassword: string): string {
  // The init file takes one statement a line.
  return ['127.0.0.1', 'localhost']
    .flatMap((host) => [
      `CREATE OR REPLACE USER '${ROOT_USER}'@'${host}' IDENTIFIED BY '${rootPassword}';`,
      `GRANT ALL PRIVILEGES ON *.* TO '${ROOT_USER}'@'${host}' WITH GRANT OPTION;`,
    ])
    .join('\n');
}

/** Durable like production (a kill must lose nothing that was committed), but small. */
function serverArguments(dataDir: string, temporaryDir: string, socketPath: string, port: number): string[] {
  return [
    '--no-defaults',
    `--datadir=${dataDir}`,
    `--tmpdir=${temporaryDir}`,
    `--socket=${socketPath}`,
    `--port=${port}`,
    '--bind-address=127.0.0.1',
    '--skip-networking=0',
    '--skip-name-resolve',
    `--pid-file=${socketPath}.pid`,
    // mariadbd refuses to run as root unless it is told so by name.
    ...(process.getuid?.() === 0 ? ['--user=root'] : []),
    '--character-set-server=utf8mb4',
    '--collation-server=utf8mb4_general_ci',
    '--innodb-flush-log-at-trx-commit=1',
    '--innodb-buffer-pool-size=64M',
    '--innodb-log-file-size=32M',
    '--key-buffer-size=1M',
    '--aria-pagecache-buffer-size=8M',
    '--performance-schema=OFF',
    '--max-connections=200',
  ];
}

/** Decimals, dates and integers beyond 2^53 arrive as strings: a test must see what is really stored. */
function connectAsRoot(port: number, password: string, database?: string): Promise<Connection> {
  return createConnection({
    host: '127.0.0.1',
    port,
    user: ROOT_USER,
    password,
    ...(database === undefined ? {} : { database }),
    dateStrings: true,
    supportBigNumbers: true,
    bigNumberStrings: false,
    multipleStatements: true,
    connectTimeout: 5_000,
  });
}
