import http from 'node:http';
import type { AddressInfo } from 'node:net';
import nock from 'nock';
import type { OpenClient } from '../../src/service/wire/connections.js';
import { overNodeHttp } from './stand-in-client.js';

// From its import on nock stands between Node and every socket, and no connection is kept: off unless it is asked for.
nock.restore();

/** The far end's handling of a request. */
export type Reply =
  | { kind: 'answer'; status: number; headers?: Record<string, string>; body?: string | Buffer }
  /** The request was read; the connection is reset without an answer. */
  | { kind: 'reset' }
  /** The request was read; nothing ever comes. */
  | { kind: 'hang' };

export interface SeenRequest {
  method: string;
  /** With its query, as sent. */
  path: string;
  headers: Record<string, string>;
  body: string;
}

/** A far end that answers by a script and remembers what it was asked. */
export interface WireLab {
  readonly url: string;
  /** The way that a client has to take to get here; absent: it finds its own. */
  readonly openClient?: OpenClient;
  readonly requests: SeenRequest[];
  /** Given in turn; the last one stays. */
  script(...replies: Reply[]): void;
  open(): Promise<void>;
  close(): Promise<void>;
}

abstract class ScriptedLab {
  readonly requests: SeenRequest[] = [];
  #replies: Reply[] = [];

  script(...replies: Reply[]): void {
    this.#replies = replies;
  }

  protected see(request: SeenRequest): Reply {
    this.requests.push(request);
    const reply = this.#replies.length > 1 ? this.#replies.shift() : this.#replies[0];
    return reply ?? { kind: 'answer', status: 500, body: 'no script' };
  }
}

/** Inside Node's http module: no socket is opened. */
export class NockLab extends ScriptedLab implements WireLab {
  readonly url = 'http://service.example.com';
  readonly openClient = overNodeHttp;

  async open(): Promise<void> {
    const lab = this;
    nock.activate();
    nock.disableNetConnect();
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']) {
      const answer = nock(this.url).persist().intercept(/.*/, method);
      answer.reply(function (path, body, done) {
        const headers = Object.fromEntries(
          Object.entries(this.req.headers).map(([name, value]) => [name, String(value)]),
        );
        const text = typeof body === 'string' ? body : JSON.stringify(body);
        const reply = lab.see({ method, path, headers, body: text });
        if (reply.kind === 'answer') done(null, [reply.status, reply.body ?? '', reply.headers ?? {}]);
        else if (reply.kind === 'reset')
          done(Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }), [0, '']);
      });
    }
  }

  async close(): Promise<void> {
    nock.abortPendingRequests();
    nock.cleanAll();
    nock.enableNetConnect();
    nock.restore();
  }
}

/** A server on a real socket. */
export class SocketLab extends ScriptedLab implements WireLab {
  /** Distinct connections that brought a request. */
  readonly connections = new Set<unknown>();
  readonly #server = http.createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('error', () => undefined);
    request.on('end', () => {
      this.connections.add(request.socket);
      const reply = this.see({
        method: request.method ?? '',
        path: request.url ?? '',
        headers: request.headers as Record<string, string>,
        body: Buffer.concat(chunks).toString('utf8'),
      });
      if (reply.kind === 'answer') response.writeHead(reply.status, reply.headers ?? {}).end(reply.body ?? '');
      else if (reply.kind === 'reset') request.socket.resetAndDestroy();
    });
  });

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  open(port = 0): Promise<void> {
    return new Promise((resolve) => this.#server.listen(port, '127.0.0.1', resolve));
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }
}
