import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import fastify, { type FastifyReply, type FastifyRequest } from 'fastify';
import { addAdminRoutes } from './admin-routes.js';
import { Refusal, sendAnswer } from './answer.js';
import { createControls, type SandboxControls } from './controls.js';
import { type Endpoint, handleRequest } from './handle-request.js';
import { invoiceEndpoints } from './invoice-endpoints.js';
import { type DelayMs, resolveOptions, type SandboxOptions } from './options.js';
import { recordEndpoints } from './record-endpoints.js';
import { createState, type SandboxState } from './state.js';

/** A running sandbox. */
export interface Sandbox extends SandboxControls {
  /** `http://127.0.0.1:PORT` (or https), without a slash at its end. */
  readonly url: string;
  readonly port: number;
  /** Stops listening and cuts every connection, but keeps all that the service knows, until `comeBack`. */
  goDown(): Promise<void>;
  /** Listens on the same port again. */
  comeBack(): Promise<void>;
  /** Ends promptly, even with requests that hang. */
  close(): Promise<void>;
}

/**
 * Starts a strict stand-in for the service on 127.0.0.1. It keeps everything in memory and shares no code with the
 * sender, so that the two can't agree on a mistake.
 */
export async function startSandbox(options: Partial<SandboxOptions> = {}): Promise<Sandbox> {
  const state = createState(resolveOptions(options));
  const controls = createControls(state);
  const first = await listen(state, controls, state.options.port);
  const { port } = first.server.address() as AddressInfo;
  let server: typeof first | null = first;

  const goDown = async (): Promise<void> => {
    const closing = server;
    server = null;
    await closing?.close();
  };
  return {
    ...controls,
    url: `${state.options.tls ? 'https' : 'http'}://127.0.0.1:${port}`,
    port,
    goDown,
    comeBack: async () => {
      server ??= await listen(state, controls, port);
    },
    close: goDown,
  };
}

/** Opens the sockets. All that the service knows is in `state`. */
async function listen(state: SandboxState, controls: SandboxControls, port: number) {
  const { tls, maxBodyBytes } = state.options;
  let isClosing = false;

  /** Not to be awaited by a handler: fastify would swallow a defect in here, and unhandled it ends the process. */
  const serve = async (
    request: FastifyRequest,
    reply: FastifyReply,
    endpoint: Endpoint | null,
    problem: Refusal | null = null,
  ): Promise<void> => {
    // From here on the answer is written by hand: fastify can't send half of an answer.
    reply.hijack();
    const receivedAtMs = state.options.nowMs();
    const { beforeMs, afterMs } = drawDelays(state.options);
    if (beforeMs > 0) await pause(beforeMs);
    if (isClosing) return;
    const { id = '' } = (request.params ?? {}) as { id?: string };
    const { entry, answer, fault, finish } = handleRequest(state, {
      method: request.method,
      path: request.raw.url ?? '/',
      headers: request.raw.headers,
      body: bodyOf(request),
      id,
      query: new URLSearchParams(request.query as Record<string, string>),
      endpoint,
      problem,
      receivedAtMs,
    });
    const waitMs = afterMs + (fault?.kind === 'delay' ? fault.ms : 0);
    if (waitMs > 0) await pause(waitMs);
    if (isClosing) return;
    finish?.();
    // The rest of a body that wasn't read would be taken for the next request.
    if (problem) reply.raw.setHeader('connection', 'close');
    entry.status = sendAnswer(reply.raw, entry.request_id, answer, fault);
    if (entry.status !== null) entry.answered_at_ms = state.options.nowMs();
  };

  const app = fastify({
    ...(tls ? { https: httpsOptions(tls) } : {}),
    logger: false,
    bodyLimit: maxBodyBytes,
    exposeHeadRoutes: false,
    // Ids are as long as a URL may be.
    routerOptions: { maxParamLength: 16_384 },
    forceCloseConnections: true,
    frameworkErrors: (_error, request, reply) =>
      void serve(request, reply, null, new Refusal(400, 'invalid_request', 'The address is not well encoded')),
  });
  app.addHook('preClose', async () => {
    isClosing = true;
  });
  // The service judges types and bodies itself, on the raw bytes, so that even what it refuses gets into the ledger.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  app.setErrorHandler(
    (error: Error & { statusCode?: number }, request, reply) => void serve(request, reply, null, asRefusal(error)),
  );
  app.setNotFoundHandler((request, reply) => void serve(request, reply, null));
  for (const [address, endpoint] of Object.entries({ ...recordEndpoints, ...invoiceEndpoints })) {
    const [method = '', url = ''] = address.split(' ');
    app.route<{ Params: { id?: string } }>({
      method,
      url,
      // The router takes `/v1/orders/` for an order with an empty id.
      handler: (request, reply) => void serve(request, reply, request.params.id === '' ? null : endpoint),
    });
  }
  app.post('/oauth/token', (request, reply) => {
    const { oauth } = state.options;
    if (!oauth) return void serve(request, reply, null);
    reply.hijack();
    const body = bodyOf(request).toString('utf8');
    const issued = state.tokens.answer(oauth, state.options, request.headers.authorization, body);
    sendAnswer(reply.raw, state.nextRequestId(), issued);
  });
  addAdminRoutes(app, state, controls);

  // Bursts of new connections are part of the tests; the default backlog would turn some away.
  await app.listen({ host: '127.0.0.1', port, backlog: 4096 });
  return app;
}

/** One request's artificial delays. */
function drawDelays(options: SandboxOptions): { beforeMs: number; afterMs: number } {
  const { random } = options;
  const draw = (ms: DelayMs): number => (typeof ms === 'number' ? ms : ms[0] + random() * (ms[1] - ms[0]));
  const totalMs = draw(options.delayMs);
  const shareBefore = totalMs === 0 ? 0 : random();
  return {
    beforeMs: draw(options.delayBeforeMs) + totalMs * shareBefore,
    afterMs: draw(options.delayAfterMs) + totalMs * (1 - shareBefore),
  };
}

/** Doesn't keep the process alive, so that closing never waits for a delayed answer. */
function pause(ms: number): Promise<void> {
  return delay(ms, undefined, { ref: false });
}

function bodyOf({ body }: FastifyRequest): Buffer {
  return Buffer.isBuffer(body) ? body : Buffer.alloc(0);
}

function httpsOptions({ key, cert, clientCa }: NonNullable<SandboxOptions['tls']>) {
  return { key, cert, ...(clientCa ? { ca: clientCa, requestCert: true, rejectUnauthorized: true } : {}) };
}

function asRefusal(error: Error & { statusCode?: number }): Refusal {
  const { statusCode = 500, message } = error;
  if (statusCode === 413) return new Refusal(413, 'body_too_large', 'The body is too large');
  if (statusCode === 415) {
    return new Refusal(400, 'unsupported_content_type', 'The content type must be application/json');
  }
  return statusCode < 500 ? new Refusal(400, 'invalid_request', message) : new Refusal(500, 'sandbox_defect', message);
}
