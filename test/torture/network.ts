import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { ProxyOrder } from './proxy-process.js';
import type { Arrival } from './tcp-proxy.js';
import { until } from './until.js';

/** A proxy as seen from outside its process; what each of these does stands at `TcpProxy`. */
export interface Network {
  readonly port: number;
  cut(): Promise<number>;
  delay(delayMs: number): Promise<void>;
  halfOpen(): Promise<void>;
  heal(): Promise<void>;
  look(): Promise<{ disturbed: number; inUse: number }>;
  arrivals(): Promise<Arrival[]>;
  close(): Promise<void>;
}

interface Host {
  child: ChildProcess;
  open: number;
  waiting: Map<number, { resolve: (answer: unknown) => void; reject: (error: Error) => void }>;
}

let host: Host | null = null;
let last = 0;

/**
 * Starts a proxy in a process that does nothing else. This one serves sandboxes and reads whole stores: when it was at that,
 * requests were noted late, and those of half a second seemed to have come at once. A thread would do, but Node 20 hangs
 * when it ends one whose sockets are being reset.
 */
export async function startNetwork(target: { host: string; port: number }): Promise<Network> {
  const used = host ?? startHost();
  used.open++;
  const proxy = ++last;
  const tell = (what: ProxyOrder['what'], more: Partial<ProxyOrder> = {}) =>
    new Promise<unknown>((resolve, reject) => {
      const order = ++last;
      used.waiting.set(order, { resolve, reject });
      used.child.send({ order, proxy, what, ...more } satisfies ProxyOrder, (error) => error && reject(error));
    });
  const port = (await tell('start', { target })) as number;
  return {
    port,
    cut: () => tell('cut') as Promise<number>,
    delay: (delayMs) => tell('delay', { delayMs }) as Promise<void>,
    halfOpen: () => tell('halfOpen') as Promise<void>,
    heal: () => tell('heal') as Promise<void>,
    look: () => tell('look') as ReturnType<Network['look']>,
    arrivals: () => tell('arrivals') as Promise<Arrival[]>,
    close: async () => {
      await tell('close');
      if (--used.open > 0) return;
      if (host === used) host = null;
      const ended = once(used.child, 'exit');
      used.child.kill('SIGKILL');
      await ended;
    },
  };
}

function startHost(): Host {
  const started: Host = {
    child: fork(fileURLToPath(new URL('./proxy-process.js', import.meta.url))),
    open: 0,
    waiting: new Map(),
  };
  started.child.on('message', ({ order, answer, error }: { order: number; answer?: unknown; error?: string }) => {
    const asked = started.waiting.get(order);
    started.waiting.delete(order);
    if (error === undefined) asked?.resolve(answer);
    else asked?.reject(new Error(error));
  });
  started.child.on('exit', (code, signal) => {
    if (host === started) host = null;
    const error = new Error(`the process of the proxies ended with ${code ?? signal}`);
    for (const asked of started.waiting.values()) asked.reject(error);
  });
  host = started;
  return started;
}

/** @returns whether anything was late or held */
export async function disturb(
  proxies: readonly Network[],
  how: (proxy: Network) => Promise<void>,
  forMs: number,
): Promise<boolean> {
  const disturbed = async () =>
    (await Promise.all(proxies.map((proxy) => proxy.look()))).reduce((sum, seen) => sum + seen.disturbed, 0);
  const before = await disturbed();
  await Promise.all(proxies.map(how));
  await sleep(forMs);
  const isFelt = await until(6_000, async () => (await disturbed()) > before, 20);
  await Promise.all(proxies.map((proxy) => proxy.heal()));
  return isFelt;
}
