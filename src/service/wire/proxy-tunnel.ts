import type { ClientRequest } from 'node:http';
import type { Socket } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import { HttpsProxyAgent, type HttpsProxyAgentOptions } from 'https-proxy-agent';

export type TunnelOptions = HttpsProxyAgentOptions<string>;
/** How the service is spoken to inside of the tunnel. */
type InnerTls = Pick<ConnectionOptions, 'ca' | 'cert' | 'key' | 'passphrase' | 'minVersion' | 'rejectUnauthorized'>;
type ConnectOptions = Parameters<HttpsProxyAgent<string>['connect']>[1];

/** What the proxy said instead of opening a tunnel. Nothing has left for the service. */
class ProxyRefusal extends Error {
  readonly code = 'WAYBILL_PROXY_REFUSAL';

  constructor(readonly status: number) {
    super(`the proxy answered HTTP ${status} to CONNECT`);
  }
}

/**
 * Connections through an HTTP proxy. The library answers a request with the proxy's own words when there is no tunnel, as if the
 * service had spoken; and it waits without end for a proxy that says nothing. Neither may happen here.
 */
export class ProxyTunnel extends HttpsProxyAgent<string> {
  readonly #connectOpts = this.connectOpts;

  constructor(
    proxy: string,
    options: TunnelOptions,
    private readonly inner: InnerTls,
  ) {
    super(proxy, options);
  }

  override async connect(request: ClientRequest, options: ConnectOptions): Promise<Socket> {
    const attempt = new AbortController();
    const { waybillDeadline } = options as { waybillDeadline?: AbortSignal };
    const stop = () => attempt.abort();
    waybillDeadline?.addEventListener('abort', stop, { once: true });
    if (waybillDeadline?.aborted) stop();
    let status = 0;
    const hear = (answer: { statusCode: number }) => {
      status = answer.statusCode;
    };
    const judge = ({ socket }: { socket: Socket }) => {
      if (status === 200) return;
      socket.on('error', () => undefined).destroy();
      throw new ProxyRefusal(status);
    };
    request.once('proxyConnect', hear).once('proxy', judge);
    // The library opens the socket before it waits for anything, so that this is the attempt's own signal.
    this.connectOpts = { ...this.#connectOpts, signal: attempt.signal } as ProxyTunnel['connectOpts'];
    try {
      return await super.connect(request, { ...options, ...this.inner } as ConnectOptions);
    } finally {
      request.removeListener('proxyConnect', hear).removeListener('proxy', judge);
      waybillDeadline?.removeEventListener('abort', stop);
    }
  }
}
