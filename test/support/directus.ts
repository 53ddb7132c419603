import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { onFreePort, type ServerProcess, startServerProcess } from './server-process.js';
import { startWatchdog } from './watchdog.js';

/** The last line of Directus that runs on Node 20. */
const version = '10.13.4';
const run = promisify(execFile);

/** A private Directus with a SQLite file: a service that other people wrote. */
export interface Directus {
  readonly url: string;
  /** Its database. */
  readonly file: string;
  /** Makes a request as its administrator. @returns what the answer has in `data` */
  // biome-ignore lint/suspicious/noExplicitAny: each answer is another
  request(method: string, path: string, body?: unknown): Promise<any>;
  /** As `kill -9`. */
  kill(): Promise<void>;
  /** Starts it again after `kill`, at the same address. */
  restart(): Promise<void>;
  /** Stops it and removes its data. */
  stop(): Promise<void>;
}

/**
 * Starts an empty Directus.
 * @param token of its administrator
 */
export async function startDirectus(token: string): Promise<Directus> {
  const program = join(await ensureDirectus(), 'node_modules/@directus/api/dist/cli/run.js');
  const folder = await mkdtemp(join(tmpdir(), 'waybill-directus-'));
  const watchdog = startWatchdog(folder);
  const file = join(folder, 'data.sqlite');
  // Without it, Directus says at each start that it finds no package.
  writeFileSync(join(folder, 'package.json'), '{}');
  const envAt = (port: number) => ({
    PATH: process.env.PATH,
    HOME: folder,
    TMPDIR: folder,
    TZ: 'UTC',
    HOST: '127.0.0.1',
    PORT: String(port),
    PUBLIC_URL: `http://127.0.0.1:${port}`,
    DB_CLIENT: 'sqlite3',
    DB_FILENAME: file,
    KEY: randomUUID(),
    SECRET: secret,
    ADMIN_EMAIL: 'admin@example.com',
    ADMIN_PASSWORD: secret,
    ADMIN_TOKEN: token,
    TELEMETRY: 'false',
    LOG_LEVEL: 'warn',
  });
  const secret = randomUUID();
  const requestAt = async (port: number, method: string, path: string, body?: unknown) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: HTTP ${response.status} ${text}`);
    return text === '' ? undefined : JSON.parse(text).data;
  };
  const start = (port: number) =>
    startServerProcess(
      {
        executable: process.execPath,
        arguments: [program, 'start'],
        place: { env: envAt(port), cwd: folder },
        logFile: join(folder, 'directus.log'),
        stopSignal: 'SIGTERM',
        connect: async () => {
          const health = await fetch(`http://127.0.0.1:${port}/server/health`);
          if (!health.ok) throw new Error(`Directus says HTTP ${health.status} of its health.`);
          // A stranger that took the port in between does not know the token.
          await requestAt(port, 'GET', '/users/me');
          return { end: async () => {} };
        },
      },
      watchdog,
    );
  try {
    await run(process.execPath, [program, 'bootstrap'], { cwd: folder, env: envAt(0) });
    const first = await onFreePort(start);
    const { port } = first;
    let server: ServerProcess = first.server;
    return {
      url: `http://127.0.0.1:${port}`,
      file,
      request: (method, path, body) => requestAt(port, method, path, body),
      kill: () => server.kill(),
      async restart() {
        server = await start(port);
      },
      stop: () => server.shutDown().then(() => watchdog.release()),
    };
  } catch (error) {
    await watchdog.release();
    throw error;
  }
}

/**
 * Installs Directus into a cache of this account, once. Half a gigabyte and 1,300 packages are nothing that everybody
 * who installs the dependencies of this project should wait for.
 * @returns the folder that holds its node_modules
 */
async function ensureDirectus(): Promise<string> {
  const caches = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'waybill-tests');
  const installed = join(caches, `directus-${version}-${process.platform}-${process.arch}`);
  if (existsSync(installed)) return installed;

  const unfinished = `${installed}.${process.pid}`;
  mkdirSync(unfinished, { recursive: true });
  console.log(`Installing Directus ${version} into ${installed}: this takes minutes, once.`);
  try {
    writeFileSync(join(unfinished, 'package.json'), '{"private": true}');
    const npm = (...options: string[]) => runNpm(unfinished, options);
    await npm('install', '--ignore-scripts', '--no-audit', '--no-fund', '--save-exact', `directus@${version}`);
    // The file that it would download instead is on a server that not every machine may talk to.
    await npm('rebuild', '--ignore-scripts=false', '--build-from-source', '--foreground-scripts', 'sqlite3');
    replaceSandbox(unfinished);
    renameSync(unfinished, installed);
  } catch (error) {
    const said = `${(error as { stderr?: string }).stderr ?? ''}`.trim().split('\n').slice(-15).join('\n');
    throw new Error(
      [
        `The end-to-end test against Directus needs directus@${version}, and npm could not install it in ${caches}.`,
        'It needs the npm registry, and python3, make and a C++ compiler for its SQLite. The end of what npm said:',
        said || String(error),
      ].join('\n'),
      { cause: error },
    );
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
  return installed;
}

/**
 * Puts an empty module in the place of the one in which Directus runs the scripts of its extensions. There are none
 * here, and V8's inner parts take minutes to compile against.
 */
function replaceSandbox(folder: string): void {
  const loader = join(folder, 'node_modules/isolated-vm');
  if (!/require\('\.\/out\/isolated_vm'\)/.test(readFileSync(join(loader, 'isolated-vm.js'), 'utf8')))
    throw new Error(`isolated-vm of Directus ${version} is another one than this test knows.`);
  mkdirSync(join(loader, 'out'), { recursive: true });
  writeFileSync(join(loader, 'out/isolated_vm.js'), 'module.exports = { ivm: {} };\n');
}

/** Below whatever else runs on the machine. The prefix keeps an npm that runs the tests from being meant. */
function runNpm(folder: string, [command = '', ...options]: string[]): Promise<unknown> {
  return run('nice', ['-n', '10', 'npm', command, '--prefix', folder, ...options], {
    cwd: folder,
    maxBuffer: 64 * 1024 ** 2,
  });
}
