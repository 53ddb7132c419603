import { randomUUID } from 'node:crypto';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis as Client } from 'ioredis';
import { onFreePort, requireExecutable, startServerProcess } from './server-process.js';
import { startWatchdog } from './watchdog.js';

/** A private Redis server: own folder, own port on loopback, gone when this process is gone. */
export interface Redis {
  readonly host: '127.0.0.1';
  readonly port: number;
  readonly password: string;
  /** Forgets everything, as after a restart. */
  empty(): Promise<void>;
  /** Stops the server and removes its data. */
  stop(): Promise<void>;
}

/** Starts a private server that keeps everything in memory. Nothing that already runs on this machine is used or touched. */
export async function startRedis(): Promise<Redis> {
  const baseDir = await mkdtemp(join(tmpdir(), 'waybill-redis-'));
  const watchdog = startWatchdog(baseDir);
  const password = randomUUID();
  try {
    const { server, port } = await onFreePort((port) =>
      startServerProcess(
        {
          executable: requireExecutable('redis-server', 'redis-server'),
          arguments: settings({ port, dir: baseDir, password }),
          logFile: join(baseDir, 'redis.log'),
          stopSignal: 'SIGTERM',
          connect: async () => {
            const client = await connect(port, password);
            return { end: () => client.quit() };
          },
        },
        watchdog,
      ),
    );
    return {
      host: '127.0.0.1',
      port,
      password,
      async empty() {
        const client = await connect(port, password);
        await client.flushall();
        await client.quit();
      },
      stop: () => server.shutDown().then(() => watchdog.release()),
    };
  } catch (error) {
    await watchdog.release();
    throw error;
  }
}

function settings({ port, dir, password }: { port: number; dir: string; password: string }): string[] {
  const all = { bind: '127.0.0.1', port, dir, requirepass: password, save: '', appendonly: 'no' };
  return Object.entries(all).flatMap(([name, value]) => [`--${name}`, `${value}`]);
}

async function connect(port: number, password: string): Promise<Client> {
  const client = new Client({ host: '127.0.0.1', port, password, lazyConnect: true, retryStrategy: () => null });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}
