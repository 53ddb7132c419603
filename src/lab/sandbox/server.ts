import type { AddressInfo } from 'node:net';
import fastify, { type FastifyReply, type FastifyRequest } from 'fastify';
import { addAdminRoutes } from './admin-routes.js';
import { Refusal } from './answer.js';
import { handleRequest } from './handle-request.js';
import type { DelayMs, SandboxOptions } from './options.js';
import type { SandboxControls } from './sandbox.js';
import { sendAnswer, Timers } from './send-answer.js';
import type { SandboxState } from './state.js';

/** One request's artificial delays, in ms. */
export function drawDelays(options: SandboxOptions): { beforeMs: number; afterMs: number } {
  const { random } = options;
  const totalMs = draw(options.delayMs, random);
  const shareBefore = totalMs === 0 ? 0 : random();
  return {
    beforeMs: draw(options.delayBeforeMs, random) + totalMs * shareBefore,
    afterMs: draw(options.delayAfterMs, random) + totalMs * (1 - shareBefore),
  };
}

function draw(delay: DelayMs, random: () => number): number {
  if (typeof delay === 'number') return delay;
  const [minMs, maxMs] = delay;
  return minMs + random() * (maxMs - minMs);
}

const noBody = Buffer.alloc(0);

export interface Server {
  port: number;
  close(): Promise<void>;
}

/** Opens the sockets. What the service knows is in `state`; nothing is kept here but timers. */
export async function openServer(state: SandboxState, controls: SandboxControls, port: number): Promise<Server> {
  const timers = new Timers();
  const serve = (request: FastifyRequest, reply: FastifyReply, problem: Refusal | null): void => {
    // From here on the answer is written by hand: fastify has no words for half of an answer.
    reply.hijack();
    const receivedAtMs = state.options.nowMs();
    const { beforeMs, afterMs } = drawDelays(state.options);
    timers.after(beforeMs, () => {
      const { entry, answer, fault, finish } = handleRequest(state, {
        method: request.method,
        path: request.raw.url ?? '/',
        headers: request.raw.headers,
        body: Buffer.isBuffer(request.body) ? request.body : noBody,
        problem,
        receivedAtMs,
      });
      timers.after(afterMs + (fault?.kind === 'delay' ? fault.ms : 0), () => {
        finish();
        // What is left of a body that wasn't read would be taken for the next request.
        if (problem) reply.raw.setHeader('connection', 'close');
        entry.status = sendAnswer(reply.raw, entry.request_id, answer, fault, timers);
        if (entry.status !== null) entry.answered_at_ms = state.options.nowMs();
      });
    });
  };

  const { tls } = state.options;
  const app = fastify({
    ...(tls ? { https: httpsOptions(tls) } : {}),
    logger: false,
    bodyLimit: state.options.maxBodyBytes,
    forceCloseConnections: true,
    frameworkErrors: (_error, request, reply) =>
      serve(request, reply, new Refusal(400, 'invalid_request', 'The address is not well encoded')),
  });
  // The service judges types and bodies itself, on the raw bytes, so that even what it refuses gets into the ledger.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  app.setErrorHandler((error: Error & { statusCode?: number }, request, reply) =>
    serve(request, reply, asRefusal(error)),
  );
  app.setNotFoundHandler((request, reply) => serve(request, reply, null));
  app.post('/oauth/token', (request, reply) => {
    if (!state.options.oauth) return serve(request, reply, null);
    reply.hijack();
    const body = Buffer.isBuffer(request.body) ? request.body.toString('utf8') : '';
    const { oauth, nowMs, echoCredentials } = state.options;
    const { authorization } = request.headers;
    const echo = echoCredentials ? `${authorization} ${body}` : null;
    const answer = state.tokens.answer(oauth, authorization, body, nowMs(), echo);
    sendAnswer(reply.raw, state.requestIds.next(), answer, null, timers);
  });
  app.all('/*', (request, reply) => serve(request, reply, null));
  addAdminRoutes(app, state, controls);

  // Bursts of new connections are part of the tests; the default backlog would turn some away.
  await app.listen({ host: '127.0.0.1', port, backlog: 4096 });
  return {
    port: (app.server.address() as AddressInfo).port,
    close: async () => {
      timers.stopAll();
      await app.close();
    },
  };
}

function httpsOptions({ key, cert, clientCa }: NonNullable<SandboxState['options']['tls']>) {
  return { key, cert, ...(clientCa ? { ca: clientCa, requestCert: true, rejectUnauthorized: true } : {}) };
}

function asRefusal(error: Error & { statusCode?: number }): Refusal {
  if (error.statusCode === 413) return new Refusal(413, 'body_too_large', 'The body is too large');
  if (error.statusCode === 415)
    return new Refusal(400, 'unsupported_content_type', 'The content type must be application/json');
  if (error.statusCode !== undefined && error.statusCode < 500)
    return new Refusal(400, 'invalid_request', error.message);
  return new Refusal(500, 'sandbox_defect', error.message);
}
