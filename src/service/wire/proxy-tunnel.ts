import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import type { buildConnector } from 'undici';

interface ProxyOptions {
  url: string;
  /** Beside CONNECT. */
  headers: Record<string, string>;
  /** The connection to a proxy whose address is https. */
  tls: ConnectionOptions;
  timeoutMs: number;
}

/** The proxy's answer instead of a tunnel. Nothing has left for the service. */
class ProxyRefusal extends Error {
  readonly code = 'WAYBILL_PROXY_REFUSAL';

  constructor(readonly status: number) {
    super(`the proxy answered HTTP ${status} to CONNECT`);
  }
}

/**
 * Connections through an HTTP proxy: a tunnel for https and for plain http.
 * @param secure speaks TLS with the service, inside of the tunnel
 */
export function proxyTunnel(proxy: ProxyOptions, secure: buildConnector.connector): buildConnector.connector {
  const { url, headers, tls, timeoutMs: timeout } = proxy;
  const request = url.startsWith('https:') ? https.request : http.request;
  return (options, callback) => {
    const isSecure = options.protocol === 'https:';
    const [host] = options.host?.match(/^(\[[^\]]*\]|[^:]*)/) ?? [options.hostname];
    const path = `${host}:${options.port || (isSecure ? 443 : 80)}`;
    const asked = request(url, { ...tls, method: 'CONNECT', path, headers: { Host: path, ...headers }, agent: false });
    const timer = setTimeout(() => asked.destroy(new Error('it took too long')), timeout);
    const fail = (error: Error) => {
      clearTimeout(timer);
      callback(error, null);
    };
    // Otherwise it would read as if the service had hung up.
    const refuse = (error: Error) =>
      fail(Object.assign(error, { message: `the proxy opened no tunnel: ${error.message}` }));
    asked.once('error', refuse);
    asked.once('connect', ({ statusCode = 0 }: IncomingMessage, socket: Socket, head: Buffer) => {
      clearTimeout(timer);
      asked.removeListener('error', refuse);
      socket.on('error', () => undefined);
      if (statusCode !== 200) {
        socket.destroy();
        callback(new ProxyRefusal(statusCode), null);
        return;
      }
      if (head.length > 0) socket.unshift(head);
      if (isSecure) secure({ ...options, httpSocket: socket }, callback);
      else callback(null, socket);
    });
    asked.end();
  };
}
