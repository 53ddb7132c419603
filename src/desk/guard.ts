import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { DeskSettings } from '../config/sections/desk.js';
import { type Address, foreignProblem, isChange, originAsked, ownPath } from './address.js';
import { problemPage } from './pages/problem.js';
import { isSame, type People, type Person, type Role, type User } from './people.js';
import type { Sessions } from './sessions.js';

/** The people who may use a route: `anyone` without signing in, or people with this role. */
export type Access = 'anyone' | Role;

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: Access;
  }
  interface FastifyRequest {
    /** null until signed in. */
    person: Person | null;
    /** The origin by which the desk was asked for. */
    ownOrigin: string;
  }
}

interface Doorkeeper {
  address: () => Address;
  people: People;
  sessions: Sessions;
  settings: DeskSettings;
  /** The name of the session's cookie. */
  cookie: string;
}

/** Lets a request through to its route, or answers it. A route without an `access` of its own is closed. */
export function guard(app: FastifyInstance, keeper: Doorkeeper): void {
  app.decorateRequest('person', null);
  app.decorateRequest('ownOrigin', '');

  app.addHook('onRequest', async (request, reply) => {
    const address = keeper.address();
    const own = originAsked(address, request);
    if (own === null)
      return refuse(reply, 421, 'The desk is not known by this name. Use the address in desk.publicUrl.');
    request.ownOrigin = own;
    request.person = personOf(request, keeper);
    // A script has no pages of other sites open.
    const isScript = request.person?.csrf === null;
    const foreign = isScript ? null : foreignProblem(request, own);
    if (foreign !== null) return refuse(reply, 403, foreign);
    // That a page does not exist is told to people who are signed in.
    const access = request.is404 ? 'read' : request.routeOptions.config.access;
    const problem = accessProblem(access, request.person);
    if (problem === 'sign in') return askToSignIn(request, reply, address);
    if (problem !== null) return refuse(reply, 403, problem);
    return undefined;
  });

  app.addHook('preHandler', async (request, reply) => {
    const expected = request.person?.csrf ?? null;
    // Signing in once more needs no token: another site can't do it, and there may be none.
    const isOpen = request.routeOptions.config.access === 'anyone';
    if (expected === null || isOpen || !isChange(request.method)) return undefined;
    const given = request.body instanceof URLSearchParams ? request.body.get('csrf') : null;
    if (given !== null && isSame(given, expected)) return undefined;
    return refuse(reply, 403, 'The form is too old, or not of this desk. Open the page again, and repeat the step.');
  });
}

/** Why this person may not use a route, or null. Pure. */
export function accessProblem(access: Access | undefined, person: Person | null): 'sign in' | string | null {
  if (access === 'anyone') return null;
  if (person === null) return 'sign in';
  if (access === undefined) return 'This page is closed.';
  if (access === 'act' && person.role !== 'act')
    return 'You may look, but not act: your line in the users file says `read`.';
  return null;
}

function personOf(
  { headers, cookies }: FastifyRequest,
  { people, sessions, settings, cookie }: Doorkeeper,
): Person | null {
  const bearer = /^Bearer ([\x21-\x7e]{16,512})$/.exec(headers.authorization ?? '')?.[1];
  if (bearer !== undefined) return asPerson(people.findByToken(bearer), null);

  const id = cookies[cookie];
  const session = id === undefined ? null : sessions.find(id);
  if (session !== null && id !== undefined) {
    const user = people.find(session.name);
    if (user?.proof === session.proof) return asPerson(user, sessions.csrfToken(id));
    sessions.end(id);
  }
  const { userHeader, secret } = settings.proxy;
  const said = headers['x-waybill-proxy'];
  const name = userHeader === undefined ? undefined : headers[userHeader.toLowerCase()];
  if (secret === undefined || typeof said !== 'string' || typeof name !== 'string') return null;
  return isSame(said, secret.reveal()) ? asPerson(people.find(name), sessions.csrfToken(`proxy ${name}`)) : null;
}

function asPerson(user: User | null, csrf: string | null): Person | null {
  return user === null ? null : { name: user.name, role: user.role, csrf };
}

/** Browsers are led to the page; scripts are told. */
function askToSignIn(request: FastifyRequest, reply: FastifyReply, { base }: Address): FastifyReply {
  const wantsPage = request.method === 'GET' && (request.headers.accept ?? '').includes('text/html');
  if (!wantsPage) return refuse(reply, 401, 'Sign in first: a token in the header Authorization, or the page.');
  // A link in a mail comes without the cookie, which is strict. Asked for again by our own page, it comes with it.
  if (request.headers['sec-fetch-site'] === 'cross-site')
    return reply
      .code(200)
      .header('refresh', '0')
      .type('text/html; charset=utf-8')
      .send('<!doctype html><title>Waybill</title>');
  return reply.redirect(`${base}sign-in?next=${encodeURIComponent(ownPath(base, request.url))}`, 303);
}

export function refuse(reply: FastifyReply, code: number, why: string): FastifyReply {
  return reply
    .code(code)
    .type('text/html; charset=utf-8')
    .send(problemPage(reply.server.deskBase, code, why));
}
