import http, { type ClientRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import https from 'node:https';
import { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { TLSSocket } from 'node:tls';
import { AxiosError, type AxiosResponse, type InternalAxiosRequestConfig } from 'axios';
import type { WireExchange } from './wire-exchange.js';

/** Thrown inside the adapter for a request that was never sent, so that axios-retry leaves it alone. */
export class NotSent extends Error {
  constructor(readonly exchange: Exclude<WireExchange, { kind: 'answer' }>) {
    super(exchange.reason);
  }
}

const shutMeanwhile = { kind: 'not_sent', reason: 'the right to send was lost before the bytes could leave' } as const;

/**
 * Node's own request, and a note of whether its connection came about. It is the only proof that nothing left when a
 * deadline passes or a connection breaks: a socket writes nothing before `connect`, and with TLS before `secureConnect`.
 * @param isTunnelled whether it goes through a proxy. Before there is a tunnel nothing can leave; of what comes after, nothing is proven.
 */
export function watchedTransport(config: InternalAxiosRequestConfig, isTunnelled: boolean, deadline: AbortSignal) {
  return {
    request(options: RequestOptions, onResponse: (response: IncomingMessage) => void): ClientRequest {
      const isSecure = options.protocol === 'https:';
      const isShut = () => config.waybillGate?.stillOpen?.() === false;
      if (isShut()) throw new NotSent(shutMeanwhile);
      const way = isTunnelled ? { ...options, waybillDeadline: deadline } : options;
      const request = (isSecure ? https : http).request(way, onResponse);
      if (isTunnelled) config.waybillNeverConnected = true;
      // Over a kept connection, a request waits here for all others of the same turn: bytes leave right after this.
      request.once('socket', (socket) => {
        if (isShut()) {
          socket.destroy(new NotSent(shutMeanwhile));
          return;
        }
        config.waybillNeverConnected = false;
        // A socket of another make (a mock's) may not keep Node's promises: it proves nothing.
        const isNodes = socket.constructor === Socket || socket.constructor === TLSSocket;
        if (isTunnelled || !isNodes || !socket.connecting) return;
        config.waybillNeverConnected = true;
        socket.once(isSecure ? 'secureConnect' : 'connect', () => {
          // Still before the first byte: Node writes what waits for the connection after this.
          if (isShut()) socket.destroy(new NotSent(shutMeanwhile));
          else config.waybillNeverConnected = false;
        });
      });
      return request;
    },
  };
}

export const deadlineCode = 'ERR_CANCELED';

/** Reads a body as UTF-8 text, bounded and within the deadline. What breaks off keeps its status (`response` on the error). */
export async function readBody(
  stream: Readable,
  maxBytes: number,
  deadline: AbortSignal,
  response: AxiosResponse,
): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const abort = () => stream.destroy(new AxiosError('the deadline passed while the body was coming in', deadlineCode));
  deadline.addEventListener('abort', abort, { once: true });
  if (deadline.aborted) abort();
  try {
    for await (const chunk of stream) {
      bytes += (chunk as Buffer).length;
      if (bytes > maxBytes) throw new AxiosError(`the body is larger than ${maxBytes} bytes`, 'WAYBILL_BODY_TOO_LARGE');
      chunks.push(chunk as Buffer);
    }
    return Buffer.concat(chunks).toString('utf8');
  } catch (cause) {
    const error = AxiosError.from(cause as Error, (cause as { code?: string }).code, response.config);
    error.response = response;
    throw error;
  } finally {
    deadline.removeEventListener('abort', abort);
    stream.destroy();
  }
}
