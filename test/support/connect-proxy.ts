import http from 'node:http';
import net, { type AddressInfo, type Socket } from 'node:net';

/** An HTTP proxy that opens tunnels, as companies have them. */
export class ConnectProxy {
  /** The requests so far: `host:port` of each CONNECT. */
  readonly asked: string[] = [];
  /** Tunnels that were opened. */
  tunnels = 0;
  /** `user:password` that is asked for; null: nobody is asked. */
  account: string | null = null;
  /** Answered instead of a tunnel; `silence`: nothing at all. */
  trouble: number | 'silence' | 'reset' | null = null;
  readonly #sockets = new Set<Socket>();
  readonly #server = http.createServer((_request, response) => response.writeHead(405).end());

  constructor() {
    this.#server.on('connection', (socket) => this.#keep(socket));
    this.#server.on('connect', (request, client: Socket, head) => {
      this.asked.push(request.url ?? '');
      client.on('error', () => undefined);
      // Node leaves it half open otherwise.
      client.on('end', () => client.end());
      if (this.trouble === 'silence') return void client.resume();
      if (this.trouble === 'reset') return void client.resetAndDestroy();
      const wanted = this.account === null ? null : `Basic ${Buffer.from(this.account).toString('base64')}`;
      const refusal = wanted !== null && request.headers['proxy-authorization'] !== wanted ? 407 : this.trouble;
      if (refusal !== null) return void client.end(`HTTP/1.1 ${refusal} No\r\nContent-Length: 2\r\n\r\nno`);
      const [host = '', port = ''] = (request.url ?? '').split(':');
      const far = net.connect(Number(port), host, () => {
        this.tunnels++;
        client.write('HTTP/1.1 200 Connection established\r\n\r\n');
        if (head.length > 0) far.write(head);
        far.pipe(client).pipe(far);
      });
      this.#keep(far);
      far.on('error', () => client.destroy());
      client.on('close', () => far.destroy());
    });
  }

  async open(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return this;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Connections that are open at this moment, on either side. */
  get connections(): number {
    return this.#sockets.size;
  }

  /** Breaks every tunnel. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async close(): Promise<void> {
    this.cut();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('close', () => this.#sockets.delete(socket));
  }
}
