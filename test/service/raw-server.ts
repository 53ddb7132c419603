import net, { type AddressInfo, type Socket } from 'node:net';
import tls from 'node:tls';

/** A server that speaks bytes, not HTTP: for everything that a well-made server would never say. */
export interface RawServer {
  readonly port: number;
  readonly url: string;
  /** The received texts, one for each connection. */
  readonly received: string[];
  close(): Promise<void>;
}

/**
 * @param respond called when a request is there, with how many this connection has brought
 * @param secure its key and certificate; absent: it speaks without TLS
 */
export async function startRawServer(
  respond: (socket: Socket, count: number) => void,
  secure?: { key: string; cert: string },
): Promise<RawServer> {
  const sockets = new Set<Socket>();
  const received: string[] = [];
  const serve = (socket: Socket) => {
    const at = received.push('') - 1;
    let count = 0;
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    socket.on('data', (chunk) => {
      received[at] += chunk.toString('utf8');
      // Headers and a body of the length that they name.
      const [head = '', body] = received[at]?.split(/\r\n\r\n/).slice(-2) ?? [];
      const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
      if (body !== undefined && Buffer.byteLength(body) >= length) respond(socket, ++count);
    });
  };
  const server = secure ? tls.createServer(secure, serve) : net.createServer(serve);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `http${secure ? 's' : ''}://127.0.0.1:${port}`,
    received,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

/** A port on which nobody listens. */
export async function deadPort(): Promise<number> {
  const server = await startRawServer(() => undefined);
  await server.close();
  return server.port;
}
