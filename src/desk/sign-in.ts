import type { FastifyReply, FastifyRequest } from 'fastify';
import { ownPath } from './address.js';
import { themes } from './pages/layout.js';
import { signInPage } from './pages/sign-in.js';
import { type DeskTools, htmlType, personOf, themeCookie } from './tools.js';

/** Passwords that may be tried a minute, by all people together. */
export const signInsPerMinute = 20;

export async function signInForm(
  { query }: FastifyRequest,
  reply: FastifyReply,
  { base }: DeskTools,
): Promise<FastifyReply> {
  const { next } = query as { next?: unknown };
  return reply.type(htmlType).send(signInPage(base, ownPath(base, typeof next === 'string' ? next : null), false));
}

export async function signIn(request: FastifyRequest, reply: FastifyReply, tools: DeskTools): Promise<FastifyReply> {
  const { base, people, sessions, parts } = tools;
  const form = formOf(request);
  const next = ownPath(base, form.get('next'));
  const name = (form.get('name') ?? '').slice(0, 64);
  const user = await people.signIn(name, (form.get('password') ?? '').slice(0, 200));
  if (user === null) {
    // A password typed into the wrong field would stand here: the name is told only where there is such a user.
    const known = people.find(name)?.name ?? 'unknown';
    parts.context.log.warn('A sign-in at the desk was refused', { name: known });
    return reply
      .code(401)
      .type(htmlType)
      .send(signInPage(base, next, true));
  }
  await tools.audit(user, 'sign_in');
  const id = sessions.begin(user.name, user.proof);
  return reply.setCookie(tools.sessionCookie, id, cookieFor(request, base)).redirect(next, 303);
}

export async function signOut(request: FastifyRequest, reply: FastifyReply, tools: DeskTools): Promise<FastifyReply> {
  const id = request.cookies[tools.sessionCookie];
  if (id !== undefined) tools.sessions.end(id);
  await tools.audit(personOf(request), 'sign_out');
  return reply.clearCookie(tools.sessionCookie, cookieFor(request, tools.base)).redirect(`${tools.base}sign-in`, 303);
}

export async function switchTheme(
  request: FastifyRequest,
  reply: FastifyReply,
  { base }: DeskTools,
): Promise<FastifyReply> {
  const form = formOf(request);
  const theme = themes.find((one) => one === form.get('theme')) ?? 'auto';
  const options = { ...cookieFor(request, base), maxAge: 365 * 86_400 };
  return reply.setCookie(themeCookie, theme, options).redirect(ownPath(base, form.get('back')), 303);
}

/** No script reads it, no other site sends it, and it goes over https alone where the desk has it. */
function cookieFor({ ownOrigin }: FastifyRequest, base: string) {
  return { path: base, httpOnly: true, sameSite: 'strict', secure: ownOrigin.startsWith('https:') } as const;
}

export function formOf({ body }: FastifyRequest): URLSearchParams {
  return body instanceof URLSearchParams ? body : new URLSearchParams();
}
