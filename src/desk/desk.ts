import type { AddressInfo } from 'node:net';
import fastifyCookie from '@fastify/cookie';
import fastifyRateLimit from '@fastify/rate-limit';
import fastify, { type FastifyError, type FastifyInstance } from 'fastify';
import { Connections } from '../ops/connections.js';
import { StoreError } from '../store/store-error.js';
import { addressOf, basePath } from './address.js';
import { WrongFilter } from './filters.js';
import { guard, refuse } from './guard.js';
import { Metrics } from './monitoring/metrics.js';
import { People } from './people.js';
import { type Route, routes } from './routes.js';
import { Sessions } from './sessions.js';
import { type DeskParts, DeskTools } from './tools.js';

declare module 'fastify' {
  interface FastifyInstance {
    /** The path of the desk: `/`, or such as `/waybill/`. */
    deskBase: string;
  }
}

export interface Desk {
  /** The address on this machine. */
  url: string;
  close(): Promise<void>;
}

/** A browser opens six; the proxy of an office some more. */
const mostConnections = 256;
const host = '127.0.0.1';

/** Pages run the one script of the desk and none that stands in them, embed nothing, and send their forms here alone. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "connect-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

const safeHeaders = {
  'content-security-policy': policy,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  // With no-referrer, browsers would send forms with "Origin: null".
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
};

/** Opens the desk on this machine. */
export async function startDesk(parts: DeskParts): Promise<Desk> {
  const { settings, log } = parts.context;
  const { port, publicUrl, usersFile, sessionHours } = settings.desk;
  const people = new People(usersFile, (message, facts) => log.warn(message, facts));
  const sessions = new Sessions(sessionHours * 3_600_000, () => parts.context.nowMs());
  const metrics = new Metrics(parts.context);
  const tools = new DeskTools(parts, basePath(publicUrl), people, sessions, metrics);
  const app = await build(parts, tools);
  let address = addressOf(publicUrl, port);
  guard(app, { address: () => address, people, sessions, settings: settings.desk, cookie: tools.sessionCookie });
  for (const route of routes) addRoute(app, route, tools);
  app.addHook('preClose', async () => tools.live.close());
  app.addHook('onClose', async () => metrics.close());
  await app.listen({ host, port });
  const listening = app.server.address() as AddressInfo;
  address = addressOf(publicUrl, listening.port);
  const url = `http://${host}:${listening.port}${tools.base}`;
  log.info('The desk is open', { url, publicUrl: publicUrl ?? null });
  return { url, close: () => app.close() };
}

async function build({ context: { log }, secrets: _ }: DeskParts, { base }: DeskTools): Promise<FastifyInstance> {
  const app = fastify({
    logger: false,
    // Larger than any form, and than a page of keys that a person marks.
    bodyLimit: 65_536,
    requestTimeout: 10_000,
    keepAliveTimeout: 5_000,
    forceCloseConnections: true,
    // A key of the ERP has up to 255 characters, each up to 12 in an address.
    routerOptions: { maxParamLength: 3_100, ignoreTrailingSlash: false },
    frameworkErrors: (_error, _request, reply) => refuse(reply, 400, 'The address makes no sense.'),
  });
  const connections = new Connections(mostConnections);
  app.server.on('connection', (socket) => connections.add(socket));
  // The whole request has come: a form is read before this.
  app.addHook('preHandler', async (request, reply) => connections.serves(request.raw.socket, reply.raw));
  app.decorate('deskBase', base);
  app.addHook('onSend', async (_request, reply) => {
    reply.headers(safeHeaders);
    if (!reply.hasHeader('cache-control')) reply.header('cache-control', 'no-store');
  });
  await app.register(fastifyCookie);
  await app.register(fastifyRateLimit, { global: false });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string' },
    async (_request: unknown, body: string) => new URLSearchParams(body),
  );
  app.setNotFoundHandler((_request, reply) => refuse(reply, 404, 'There is no such page.'));
  app.setErrorHandler((error: FastifyError, _request, reply) => {
    const { statusCode = 500 } = error;
    if (statusCode === 429) return refuse(reply, 429, 'Too many tries to sign in. Wait a minute, then try again.');
    if (error instanceof WrongFilter) return refuse(reply, 400, error.message);
    if (statusCode < 500) return refuse(reply, statusCode, 'The request makes no sense.');
    const isStore = error instanceof StoreError;
    log.error('A page of the desk failed', { error: error.message });
    return refuse(
      reply,
      isStore ? 503 : 500,
      isStore ? 'The store cannot be read now. Try again in a minute.' : 'The log of the daemon says what happened.',
    );
  });
  return app;
}

function addRoute(
  app: FastifyInstance,
  { method, path, access, mostPerMinute, isStream, handle }: Route,
  tools: DeskTools,
): void {
  // One count for all: behind a proxy everyone has the same address, and a header could be forged.
  const rateLimit = mostPerMinute && { max: mostPerMinute, timeWindow: 60_000, keyGenerator: () => path };
  app.route({
    method,
    url: `${tools.base}${path}`,
    exposeHeadRoute: isStream !== true,
    config: { access, ...(rateLimit && { rateLimit }) },
    handler: (request, reply) => handle(request, reply, tools),
  });
}
