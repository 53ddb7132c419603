import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { WebhookSettings } from '../../config/sections/webhooks.js';
import { Connections } from '../../ops/connections.js';
import type { WebhookHandler } from './webhook-handler.js';

export interface WebhookListener {
  port: number;
  /** Stops listening. Events that are being stored are stored; all other requests are cut off. */
  close(): Promise<void>;
}

/** For all header lines of a request. */
const maxHeaderBytes = 8_192;
const closeWithinMs = 2_000;

/**
 * Opens the socket. Plain node:http is enough: one path, one method, a bounded body, and limits on time and number. A body that
 * will be refused is not read to its end.
 */
export async function listenForWebhooks(
  settings: Pick<WebhookSettings, 'host' | 'port' | 'maxBodyBytes' | 'maxConnections' | 'requestSeconds'>,
  handler: WebhookHandler,
): Promise<WebhookListener> {
  const requestMs = settings.requestSeconds * 1000;
  const server = createServer(
    {
      maxHeaderSize: maxHeaderBytes,
      headersTimeout: requestMs,
      requestTimeout: requestMs,
      connectionsCheckingInterval: Math.min(1_000, requestMs / 2),
      keepAliveTimeout: 5_000,
    },
    (request, response) => serve(request, response, handler, settings.maxBodyBytes, connections),
  );
  const connections = new Connections(settings.maxConnections);
  server.on('connection', (socket) => connections.add(socket));
  // Half a request, or one that is no HTTP, gets no answer.
  server.on('clientError', (_error, socket) => socket.destroy());
  // "Expect: 100-continue" asks before it sends: a refusal then costs no body at all.
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    const refused = handler.refuse(request as IncomingMessage & { method: string; url: string });
    if (refused !== null) end(response, refused, true);
    else {
      response.writeContinue();
      serve(request, response, handler, settings.maxBodyBytes, connections);
    }
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(settings.port, settings.host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeIdleConnections();
        setTimeout(() => server.closeAllConnections(), closeWithinMs).unref();
      }),
  };
}

function serve(
  request: IncomingMessage,
  response: ServerResponse,
  handler: WebhookHandler,
  maxBytes: number,
  connections: Connections,
): void {
  const { method = '', url = '', headers } = request;
  const refused = handler.refuse({ method, url, headers });
  if (refused !== null) {
    end(response, refused, true);
    return;
  }
  const parts: Buffer[] = [];
  let bytes = 0;
  request.on('data', (part: Buffer) => {
    bytes += part.length;
    if (bytes > maxBytes) {
      request.removeAllListeners('data').removeAllListeners('end');
      end(response, handler.turnAway('too_large'), true);
      return;
    }
    parts.push(part);
  });
  request.on('end', () => {
    connections.serves(request.socket, response);
    void handler
      .handle({ method, url, headers, body: Buffer.concat(parts, bytes) })
      .then((status) => end(response, status, false));
  });
  request.on('error', () => response.destroy());
}

/** @param isLast the rest of the request is not read, so that nothing may follow on this connection */
function end(response: ServerResponse, status: number, isLast: boolean): void {
  if (isLast) response.setHeader('connection', 'close');
  if (status === 405) response.setHeader('allow', 'POST');
  if (status === 503) response.setHeader('retry-after', '30');
  response.writeHead(status).end();
}
