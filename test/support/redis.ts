import { randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis as Client } from 'ioredis';
import type { Certificate } from './certificates.js';
import { onFreePort, requireExecutable, startServerProcess } from './server-process.js';
import { startWatchdog } from './watchdog.js';

/** A private Redis server: own folder, own port on loopback, gone when this process is gone. */
export interface Redis {
  readonly host: '127.0.0.1';
  readonly port: number;
  readonly password: string;
  /** Runs one command, such as `['INFO', 'commandstats']`. */
  run(...command: string[]): Promise<unknown>;
  /** Forgets everything, as after a restart. */
  empty(): Promise<void>;
  /** As `kill -9`. */
  kill(): Promise<void>;
  /** Starts it again after `kill`, empty, on the same port. */
  restart(): Promise<void>;
  /** Freezes it: connections stay open, and nothing is answered. */
  pause(): Promise<void>;
  resume(): void;
  /** Stops the server and removes its data. */
  stop(): Promise<void>;
}

interface RedisOptions {
  /** Serves TLS alone. */
  tls?: Certificate & { caFile: string };
  /** Laid over the settings of redis-server. */
  settings?: Record<string, string>;
  /** Is a Sentinel, which knows that server under the name `main`. */
  sentinelOf?: Redis;
}

/** Starts a private server that keeps everything in memory. Nothing that already runs on this machine is used or touched. */
export async function startRedis({ tls, settings: own = {}, sentinelOf }: RedisOptions = {}): Promise<Redis> {
  const baseDir = await mkdtemp(join(tmpdir(), 'waybill-redis-'));
  const watchdog = startWatchdog(baseDir);
  const password = randomUUID();
  try {
    const start = (port: number) =>
      startServerProcess(
        {
          executable: requireExecutable('redis-server', 'redis-server'),
          arguments: sentinelOf
            ? [sentinelFile(baseDir, port, password, sentinelOf), '--sentinel']
            : settings({ port, dir: baseDir, requirepass: password, ...(tls ? overTls(port, tls) : {}), ...own }),
          logFile: join(baseDir, 'redis.log'),
          stopSignal: 'SIGTERM',
          connect: async () => {
            const client = await connect(port, password, tls);
            return { end: async () => client.disconnect() };
          },
        },
        watchdog,
      );
    const { server: first, port } = await onFreePort(start);
    let server = first;
    const run = async (...[name = '', ...values]: string[]) => {
      const client = await connect(port, password, tls);
      try {
        return await client.call(name, ...values);
      } finally {
        client.disconnect();
      }
    };
    return {
      host: '127.0.0.1',
      port,
      password,
      run,
      empty: async () => void (await run('FLUSHALL')),
      kill: () => server.kill(),
      async restart() {
        server = await start(port);
      },
      pause: () => server.pause(),
      resume: () => server.resume(),
      stop: () => server.shutDown().then(() => watchdog.release()),
    };
  } catch (error) {
    await watchdog.release();
    throw error;
  }
}

function settings(own: Record<string, string | number>): string[] {
  const all = { bind: '127.0.0.1', save: '', appendonly: 'no', ...own };
  return Object.entries(all).flatMap(([name, value]) => [`--${name}`, `${value}`]);
}

function overTls(port: number, { certFile, keyFile, caFile }: Certificate & { caFile: string }) {
  const files = { 'tls-cert-file': certFile, 'tls-key-file': keyFile, 'tls-ca-cert-file': caFile };
  return { port: 0, 'tls-port': port, 'tls-auth-clients': 'no', ...files };
}

/** A Sentinel keeps what it learns in its file. */
function sentinelFile(folder: string, port: number, password: string, server: Redis): string {
  const file = join(folder, 'sentinel.conf');
  const lines = [
    `port ${port}`,
    'bind 127.0.0.1',
    `dir ${folder}`,
    `requirepass ${password}`,
    `sentinel monitor main ${server.host} ${server.port} 1`,
    `sentinel auth-pass main ${server.password}`,
  ];
  writeFileSync(file, `${lines.join('\n')}\n`, { mode: 0o600 });
  return file;
}

async function connect(port: number, password: string, tls?: { cert: string; caFile: string }): Promise<Client> {
  const secure = tls ? { tls: { ca: readFileSync(tls.caFile) } } : {};
  const client = new Client({
    host: '127.0.0.1',
    port,
    password,
    ...secure,
    lazyConnect: true,
    retryStrategy: () => null,
  });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}
