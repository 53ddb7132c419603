import http, { type IncomingMessage } from 'node:http';
import type { Dispatcher } from 'undici';
import type { OpenClient } from '../../src/service/wire/connections.js';

type Handler = Dispatcher.DispatchHandler;
type Controller = Dispatcher.DispatchController;

/** The object with which a handler steers a request of undici. */
function controllerOf(abort: (reason: Error) => void): Controller {
  return { aborted: false, paused: false, reason: null, abort, pause() {}, resume() {}, rawHeaders: [] } as Controller;
}

/** Stands in for undici's client. @param dispatch takes one request, as undici would */
export function clientBy(dispatch: (sent: Dispatcher.DispatchOptions, handler: Handler) => void): OpenClient {
  return () => ({ dispatch, destroy: async () => undefined }) as unknown as Dispatcher;
}

/** Over Node's own http, which nock stands in for: it cannot stand in for undici's sockets. */
export const overNodeHttp: OpenClient = clientBy((sent, handler) => {
  const { origin, path, method } = sent;
  const headers = { ...(sent.headers as Record<string, string>) };
  const body = sent.body as string | null;
  const request = http.request(`${origin}${path}`, {
    method,
    headers: body === null ? headers : { ...headers, 'Content-Length': Buffer.byteLength(body) },
  });
  let isOver = false;
  const fail = (error: Error) => {
    if (isOver) return;
    isOver = true;
    request.destroy();
    handler.onResponseError?.(controller, error);
  };
  const controller = controllerOf(fail);
  request.on('error', fail);
  request.on('response', (response: IncomingMessage) => {
    handler.onResponseStart?.(controller, response.statusCode ?? 0, response.headers as Record<string, string>);
    response.on('data', (chunk: Buffer) => {
      if (!isOver) handler.onResponseData?.(controller, chunk);
    });
    response.on('error', fail);
    response.on('end', () => {
      if (isOver) return;
      isOver = true;
      handler.onResponseEnd?.(controller, {});
    });
  });
  try {
    handler.onRequestStart?.(controller, {});
  } catch (error) {
    return fail(error as Error);
  }
  request.end(body ?? undefined);
});

/** An answer that is played from memory; `error` in the place of its end: it breaks off. */
export interface PlayedAnswer {
  status: number;
  headers: Record<string, string | string[]>;
  pieces: Iterable<Buffer>;
  error: Error | null;
}

/** Plays answers in place of a network; an error comes once the request has left. */
export function playing(next: () => PlayedAnswer | Error): OpenClient {
  return clientBy((_sent, handler) => {
    const answer = next();
    let isOver = false;
    const controller = controllerOf((reason) => {
      if (isOver) return;
      isOver = true;
      handler.onResponseError?.(controller, reason);
    });
    queueMicrotask(() => {
      handler.onRequestStart?.(controller, {});
      if (answer instanceof Error) return controller.abort(answer);
      handler.onResponseStart?.(controller, answer.status, answer.headers);
      if (answer.status < 200) return controller.abort(new Error('other side closed'));
      for (const piece of answer.pieces) if (!isOver) handler.onResponseData?.(controller, piece);
      if (answer.error) controller.abort(answer.error);
      else if (!isOver) handler.onResponseEnd?.(controller, {});
      isOver = true;
    });
  });
}
