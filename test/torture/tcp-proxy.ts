import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** One request as it reached the client's side of a proxy. */
export interface Arrival {
  /** performance.now() of the process of the proxies, the same for all of them. */
  monotonicMs: number;
  atMs: number;
  /** Method and path. */
  request: string;
}

/**
 * A stretch of network that can be ill-treated, or an HTTP proxy: then all tunnels lead to one place. It also counts the HTTP requests
 * that a client sends into it.
 */
export interface TcpProxy {
  readonly port: number;
  readonly arrivals: Arrival[];
  /** The number of pieces of data that were late or held so far: tells if an ill-treatment was felt. */
  readonly disturbed: number;
  /** Connections on which somebody waits for an answer. */
  readonly inUse: number;
  /** Resets every connection; new ones are fine. @returns how many were in use */
  cut(): number;
  /** From now on every piece of data takes this long. */
  delay(ms: number): void;
  /** Connections stay open, and nothing gets through until `heal`: then it all arrives at once. */
  halfOpen(): void;
  heal(): void;
  close(): Promise<void>;
}

/** A client sends its next request on a connection only after the answer to the one before, so each begins a piece. */
const requestLine = /^((?:GET|POST|PUT|PATCH|DELETE) \/\S*)/;

export async function startTcpProxy(target: { host: string; port: number }): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  const waiting = new Set<Socket>();
  const arrivals: Arrival[] = [];
  const held: (() => void)[] = [];
  let isHeld = false;
  let delayMs = 0;
  let disturbed = 0;

  const pass = (work: () => void) => {
    if (isHeld || delayMs > 0) disturbed++;
    if (isHeld) held.push(work);
    else if (delayMs > 0) setTimeout(work, delayMs);
    else work();
  };
  /** @param look called with each piece; true: it goes no further */
  const join = (from: Socket, to: Socket, look: (piece: Buffer) => boolean) => {
    sockets.add(from);
    from.setNoDelay(true);
    from.on('data', (piece) => {
      if (!look(piece)) pass(() => void (to.writable && to.write(piece)));
    });
    from.on('end', () => pass(() => to.end()));
    from.on('error', () => undefined);
    from.on('close', () => {
      sockets.delete(from);
      pass(() => to.destroy());
    });
  };
  const server = createServer({ allowHalfOpen: true }, (near) => {
    const far = connect({ ...target, allowHalfOpen: true });
    join(near, far, (piece) => {
      const start = piece.toString('latin1', 0, 200);
      if (start.startsWith('CONNECT ')) {
        pass(() => void (near.writable && near.write('HTTP/1.1 200 Connection established\r\n\r\n')));
        return true;
      }
      waiting.add(near);
      const [, request] = requestLine.exec(start) ?? [];
      if (request) arrivals.push({ monotonicMs: performance.now(), atMs: Date.now(), request });
      return false;
    });
    join(far, near, () => {
      waiting.delete(near);
      return false;
    });
    near.on('close', () => waiting.delete(near));
    far.on('error', () => near.resetAndDestroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  const heal = () => {
    isHeld = false;
    delayMs = 0;
    for (const work of held.splice(0)) work();
  };
  const cut = () => {
    const inUse = waiting.size;
    for (const socket of sockets) socket.resetAndDestroy();
    return inUse;
  };
  return {
    port: (server.address() as AddressInfo).port,
    arrivals,
    get disturbed() {
      return disturbed;
    },
    get inUse() {
      return waiting.size;
    },
    cut,
    delay: (ms) => {
      delayMs = ms;
    },
    halfOpen: () => {
      isHeld = true;
    },
    heal,
    close: async () => {
      heal();
      cut();
      server.close();
      await once(server, 'close');
    },
  };
}
