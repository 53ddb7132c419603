import { Worker } from 'node:worker_threads';
import type { ProxyOrder } from './proxy-thread.js';
import type { Arrival } from './tcp-proxy.js';

/** A proxy as seen from outside its thread; what each does stands at `TcpProxy`. */
export interface Network {
  readonly port: number;
  cut(): Promise<number>;
  delay(delayMs: number): Promise<void>;
  halfOpen(): Promise<void>;
  heal(): Promise<void>;
  look(): Promise<{ arrivals: Arrival[]; disturbed: number; inUse: number }>;
  close(): Promise<void>;
}

interface Thread {
  worker: Worker;
  open: number;
  waiting: Map<number, { resolve: (answer: unknown) => void; reject: (error: Error) => void }>;
}

let thread: Thread | null = null;
let last = 0;

/**
 * Starts a proxy in a thread that does nothing else. The other one serves sandboxes and reads whole stores: when it was at
 * that, requests were noted late, and those of half a second seemed to have come at once.
 */
export async function startNetwork(target: { host: string; port: number }): Promise<Network> {
  const used = thread ?? startThread();
  used.open++;
  const proxy = ++last;
  const tell = (what: ProxyOrder['what'], more: Partial<ProxyOrder> = {}) =>
    new Promise<unknown>((resolve, reject) => {
      const order = ++last;
      used.waiting.set(order, { resolve, reject });
      used.worker.postMessage({ order, proxy, what, ...more } satisfies ProxyOrder);
    });
  const port = (await tell('start', { target })) as number;
  return {
    port,
    cut: () => tell('cut') as Promise<number>,
    delay: (delayMs) => tell('delay', { delayMs }) as Promise<void>,
    halfOpen: () => tell('halfOpen') as Promise<void>,
    heal: () => tell('heal') as Promise<void>,
    look: () => tell('look') as ReturnType<Network['look']>,
    close: async () => {
      await tell('close');
      if (--used.open > 0) return;
      if (thread === used) thread = null;
      await used.worker.terminate();
    },
  };
}

function startThread(): Thread {
  const started: Thread = {
    worker: new Worker(new URL('./proxy-thread.js', import.meta.url)),
    open: 0,
    waiting: new Map(),
  };
  started.worker.on('message', ({ order, answer, error }: { order: number; answer?: unknown; error?: string }) => {
    const asked = started.waiting.get(order);
    started.waiting.delete(order);
    if (error === undefined) asked?.resolve(answer);
    else asked?.reject(new Error(error));
  });
  started.worker.on('error', (error) => {
    thread = null;
    for (const asked of started.waiting.values()) asked.reject(error);
  });
  thread = started;
  return started;
}
