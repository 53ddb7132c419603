import { AsyncLocalStorage } from 'node:async_hooks';
import { createRequire } from 'node:module';
import Fastify from 'fastify';
import { type Listening, listening } from '../machine/intercept.js';
import { machine, running } from '../machine/machine.js';
import type { Service } from './service.js';

interface Controller {
  abort(reason: Error): void;
  pause(): void;
  resume(): void;
  aborted: boolean;
  paused: boolean;
  reason: Error | null;
}

interface Handler {
  onRequestStart(controller: Controller, context: object): void;
  onResponseStart(controller: Controller, status: number, headers: object): void;
  onResponseData(controller: Controller, chunk: Buffer): void;
  onResponseEnd(controller: Controller, trailers: object): void;
  onResponseError(controller: Controller | undefined, error: Error): void;
}

interface Sent {
  path: string;
  method: string;
  headers: Record<string, string>;
  body: string | null;
}

let service: Service | null = null;
/** A network that is down for this machine. */
export const network = { isDown: false };

export function connectTo(one: Service): void {
  service = one;
  network.isDown = false;
}

/** Puts the simulated network below undici: what the product writes on the wire arrives at the service of this history. */
export function interceptNetwork(): void {
  const require = createRequire(import.meta.url);
  const Client = require('undici/lib/dispatcher/client.js');
  Client.prototype.dispatch = (sent: Sent, handler: Handler) => {
    void travel(sent, handler);
    return true;
  };
}

async function travel(sent: Sent, handler: Handler): Promise<void> {
  const owner = running.getStore();
  const target = service as Service;
  const whose = machine();
  const fail = (message: string, code: string) => Object.assign(new Error(message), { code });
  let isOver = false;
  const controller: Controller = {
    aborted: false,
    paused: false,
    reason: null,
    pause: () => undefined,
    resume: () => undefined,
    abort: (reason) => {
      if (isOver) return;
      isOver = true;
      controller.aborted = true;
      controller.reason = reason;
      handler.onResponseError(controller, reason);
    },
  };
  await owner?.pass();
  const url = new URL(sent.path, 'http://service');
  const keyHeader = Object.entries(sent.headers).find(([name]) => name.toLowerCase() === 'idempotency-key');
  const request = {
    method: sent.method,
    path: url.pathname,
    query: url.searchParams,
    key: keyHeader ? String(keyHeader[1]) : null,
    body: sent.body ?? '',
    pid: owner?.pid ?? 0,
  };
  // A connection takes a moment.
  await new Promise<void>((resolve) => whose.after(2, owner ?? null, resolve));
  if (network.isDown || !target.isReachable(request)) {
    handler.onResponseError(undefined, fail('connect ECONNREFUSED', 'ECONNREFUSED'));
    return;
  }
  try {
    handler.onRequestStart(controller, {});
  } catch (error) {
    handler.onResponseError(controller, error as Error);
    return;
  }
  if (controller.aborted) return;
  // The bytes have left: they arrive, whatever becomes of the process.
  whose.after(3, null, () => {
    const { reply, afterMs } = target.receive(request);
    whose.after(afterMs, owner ?? null, () => {
      void (async () => {
        await owner?.pass();
        if (isOver) return;
        isOver = true;
        if (reply === 'silence')
          return handler.onResponseError(controller, fail('other side closed', 'UND_ERR_SOCKET'));
        if (reply === 'reset') return handler.onResponseError(controller, fail('read ECONNRESET', 'ECONNRESET'));
        handler.onResponseStart(controller, reply.status, { 'content-type': 'application/json', ...reply.headers });
        if (reply.body !== '') handler.onResponseData(controller, Buffer.from(reply.body));
        if (reply.isCut) handler.onResponseError(controller, fail('other side closed', 'UND_ERR_SOCKET'));
        else handler.onResponseEnd(controller, {});
      })();
    });
  });
}

export interface Answer {
  status: number;
  location: string | undefined;
  body: string;
}

interface Asked {
  method: 'GET' | 'POST';
  path: string;
  headers: Record<string, string>;
  body: string;
}

/** Whom a request is for. */
const asking = new AsyncLocalStorage<Listening>();

/** Makes requests without a socket, and hands them on unread. */
const sender = Fastify().addHook('onRequest', (request, reply, _done) => {
  reply.hijack();
  const { owner, server } = asking.getStore() as Listening;
  running.run(owner, () => void server.emit('request', request.raw, reply.raw));
});
// Else the first one who asks would wait for it, as nobody after him does.
await running.exit(() => sender.ready());

/** Sends a request to whoever listens on this port of the simulated machine. @returns null: nobody answered */
export async function ask(port: number, { method, path, headers, body }: Asked): Promise<Answer | null> {
  const found = listening.get(port);
  if (found?.owner.state !== 'running') return null;
  const asked = method === 'POST' ? { payload: body } : {};
  const sent = running.run(found.owner, () =>
    asking.run(found, () => sender.inject({ method, url: path, headers, ...asked })),
  );
  let answer: Answer | null = null;
  void sent.then(
    ({ statusCode, headers: { location }, body }) => {
      answer = { status: statusCode, location: location?.toString(), body };
    },
    // Whoever was asked went away.
    () => undefined,
  );
  await machine().run(5_000, () => answer !== null);
  return answer;
}
