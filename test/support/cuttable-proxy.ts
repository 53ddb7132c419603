import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A stretch of network between a program and a server on this machine, which a test can take away. */
export interface CuttableProxy {
  readonly port: number;
  /** Connections stay open and nothing gets through in either direction: a cable that was pulled. */
  stall(): void;
  /** Every connection is reset, and new ones are too: a server that is gone. */
  cut(): void;
  /** As before; what was stalled goes on where it was. */
  heal(): void;
  /**
   * Looks at what the program sends; when `cutAfter` says so, it is passed on, and the connection is reset before an
   * answer can come back. Resolves when it happened.
   */
  cutAfter(fits: (sent: Buffer) => boolean): Promise<void>;
  close(): Promise<void>;
}

export async function startCuttableProxy(target: { host: string; port: number }): Promise<CuttableProxy> {
  const pairs = new Set<{ near: Socket; far: Socket }>();
  let state: 'open' | 'stalled' | 'cut' = 'open';
  let trap: { fits: (sent: Buffer) => boolean; sprung: () => void } | null = null;

  const server = createServer((near) => {
    near.on('error', () => undefined);
    if (state === 'cut') {
      near.resetAndDestroy();
      return;
    }
    const far = connect(target);
    const pair = { near, far };
    pairs.add(pair);
    near.on('data', (chunk: Buffer) => {
      const caught = trap?.fits(chunk) ? trap : null;
      if (caught) {
        trap = null;
        // The server gets it and acts on it; its word for it never arrives.
        far.removeAllListeners('data');
        far.once('data', () => {
          near.resetAndDestroy();
          caught.sprung();
        });
      }
      if (!far.write(chunk)) {
        near.pause();
        far.once('drain', () => state === 'open' && near.resume());
      }
    });
    far.on('data', (chunk: Buffer) => {
      if (near.write(chunk)) return;
      far.pause();
      near.once('drain', () => state === 'open' && far.resume());
    });
    far.on('error', () => near.resetAndDestroy());
    near.on('close', () => {
      pairs.delete(pair);
      far.destroy();
    });
    far.on('close', () => near.destroy());
    if (state === 'stalled') {
      near.pause();
      far.pause();
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  return {
    port: (server.address() as AddressInfo).port,
    stall() {
      state = 'stalled';
      for (const { near, far } of pairs) {
        near.pause();
        far.pause();
      }
    },
    cut() {
      state = 'cut';
      for (const { near } of pairs) near.resetAndDestroy();
    },
    heal() {
      state = 'open';
      for (const { near, far } of pairs) {
        near.resume();
        far.resume();
      }
    },
    cutAfter(fits) {
      return new Promise((sprung) => {
        trap = { fits, sprung };
      });
    },
    async close() {
      for (const { near } of pairs) near.resetAndDestroy();
      server.close();
      await once(server, 'close');
    },
  };
}
