import * as oauth from 'oauth4webapi';
import type { OauthSettings } from '../../config/sections/service-credential.js';
import type { Fact } from '../../model/facts/fact.js';
import { outside } from '../../model/outside.js';
import { redact } from '../../model/redact.js';
import type { KnownSecrets } from '../../model/secret.js';
import { errorBody, errorWords } from '../answer-words.js';
import { parseJson } from '../parse-json.js';
import { retryAfterMs } from '../rate-limit/rate-limit-headers.js';
import type { WireExchange } from '../wire/wire-exchange.js';
import type { CredentialFault } from './credential.js';

/** Tokens learnt from one answer at most, so that a hostile one can't push older secrets out of what is remembered. */
const mostTokens = 3;

const inJson = /"(?:access|refresh|id)_token"\s*:\s*"((?:[^"\\]|\\.){1,8192})"?/g;
const inForm = /\b(?:access|refresh|id)_token=([^&\s"]{1,8192})/g;

/** The tokens that an answer of a token endpoint carries, wherever they stand in it, also where it is cut off or no JSON. Pure. */
function tokensIn(body: string): string[] {
  const found = [
    ...Array.from(body.matchAll(inJson), ([, text = '']) => unescaped(text)),
    ...Array.from(body.matchAll(inForm), ([, text = '']) => text),
  ];
  return [...new Set(found)].slice(0, mostTokens);
}

function unescaped(text: string): string {
  try {
    return JSON.parse(`"${text}"`) as string;
  } catch {
    return text;
  }
}

/** A POST to where tokens come from, with everything that holds for a request to the service: slot, gate, deadline, bounds. */
export type SendTokenRequest = (request: {
  url: string;
  headers: Record<string, string>;
  body: string;
}) => Promise<WireExchange>;

type TokenAnswer =
  | { kind: 'token'; token: string; lifetimeMs: number | null }
  | { kind: 'fault'; fault: CredentialFault; retryAfterMs: number | null };

/** Thrown through the library, which only knows answers. */
class NoAnswer extends Error {
  constructor(readonly exchange: Exclude<WireExchange, { kind: 'answer' }>) {
    super(exchange.kind);
  }
}

/** Statuses whose answers have no body, which `Response` insists on. */
const bodiless = new Set([204, 205, 304]);
/** Errors of RFC 6749 and after that pass by themselves. */
const passing = new Set(['temporarily_unavailable', 'server_error', 'slow_down']);

/**
 * Asks for an access token once. Never throws.
 * @param secret null where the certificate says who we are
 * @param secrets learns of every token in the answer, whatever its status
 */
export async function requestToken(
  settings: OauthSettings,
  secret: string | null,
  send: SendTokenRequest,
  nowMs: () => number,
  secrets: KnownSecrets,
): Promise<TokenAnswer> {
  const { tokenUrl, clientId, scope, audience, resource } = settings;
  const server = { issuer: new URL(tokenUrl).origin, token_endpoint: tokenUrl };
  const client = { client_id: clientId };
  const parameters = Object.entries({ scope, audience, resource }).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value]],
  );
  let answer: Extract<WireExchange, { kind: 'answer' }> | null = null;
  try {
    const response = await oauth.clientCredentialsGrantRequest(
      server,
      client,
      authenticationOf(settings, secret),
      parameters,
      {
        // Permission for http was decided when the settings were read.
        [oauth.allowInsecureRequests]: true,
        [oauth.customFetch]: async (url, { headers, body }) => {
          const exchange = await send({ url, headers, body: String(body) });
          if (exchange.kind !== 'answer') throw new NoAnswer(exchange);
          for (const token of tokensIn(exchange.body)) secrets.add(token);
          // Before its words are cut: half a token is a leak too.
          answer = { ...exchange, body: redact(exchange.body, secrets.all) };
          return responseOf(exchange);
        },
      },
    );
    const given = await oauth.processClientCredentialsResponse(server, client, response);
    const token = given.access_token;
    const status = response.status;
    if (given.token_type !== 'bearer')
      return refused(tokenUrl, { code: 'wrong_token_type', status, type: outside(given.token_type) });
    if (!/^[\x21-\x7e]+$/.test(token)) return refused(tokenUrl, { code: 'unsendable_token', status });
    return { kind: 'token', token, lifetimeMs: given.expires_in === undefined ? null : given.expires_in * 1000 };
  } catch (error) {
    if (error instanceof NoAnswer)
      return { kind: 'fault', fault: ofNoAnswer(error.exchange, tokenUrl), retryAfterMs: null };
    return judgeTokenRefusal(answer, error as Error, tokenUrl, nowMs());
  }
}

/**
 * A part of the credentials in the header, form-encoded (RFC 6749, 2.3.1). Pure. Unreserved characters (RFC 3986, 2.3) stay as
 * they are: many servers never decode, and those that do decode read them the same.
 */
export function formEncoded(text: string): string {
  return encodeURIComponent(text)
    .replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll('%20', '+');
}

/** The text in the header after "Basic". Pure. */
export function basicCredentials(clientId: string, secret: string): string {
  return Buffer.from(`${formEncoded(clientId)}:${formEncoded(secret)}`).toString('base64');
}

/** The library's own ClientSecretBasic encodes `-`, `.`, `_` and `~` too. */
function clientSecretBasic(secret: string): oauth.ClientAuth {
  return (_, { client_id }, __, headers) =>
    headers.set('authorization', `Basic ${basicCredentials(client_id, secret)}`);
}

function authenticationOf({ authentication }: OauthSettings, secret: string | null): oauth.ClientAuth {
  if (authentication === 'certificate' || secret === null) return oauth.TlsClientAuth();
  return authentication === 'post' ? oauth.ClientSecretPost(secret) : clientSecretBasic(secret);
}

function responseOf({ status, headers, body }: Extract<WireExchange, { kind: 'answer' }>): Response {
  return new Response(bodiless.has(status) ? null : usable(body), { status, headers });
}

/** The grant without what the library refuses and nothing depends on: a null, a list of scopes, a type that is left out. */
function usable(body: string): string {
  const grant = parseJson(body) as { [name: string]: unknown } | undefined;
  if (typeof grant?.access_token !== 'string') return body;
  const said = Object.entries(grant).filter(([name, value]) => value !== null && (name !== 'scope' || isText(value)));
  return JSON.stringify({ token_type: 'bearer', ...Object.fromEntries(said) });
}

const isText = (value: unknown) => typeof value === 'string';

function noToken(tokenUrl: string, reason: Fact): Fact {
  return { code: 'no_token', tokenUrl, reason };
}

function unavailable(tokenUrl: string, reason: Fact, retryAfterMs: number | null = null): Refusal {
  return { kind: 'fault', fault: { kind: 'unavailable', reason: noToken(tokenUrl, reason), tls: false }, retryAfterMs };
}

/** A person has to look: the same would come again. */
function refused(tokenUrl: string, reason: Fact): Refusal {
  return { kind: 'fault', fault: { kind: 'refused', reason: noToken(tokenUrl, reason) }, retryAfterMs: null };
}

type Refusal = Extract<TokenAnswer, { kind: 'fault' }>;

function ofNoAnswer(exchange: NoAnswer['exchange'], tokenUrl: string): CredentialFault {
  if (exchange.kind === 'not_sent') return { kind: 'not_sent', reason: exchange.reason };
  const reason = noToken(tokenUrl, exchange.reason);
  if (exchange.kind === 'no_credential') return { kind: 'refused', reason };
  return { kind: 'unavailable', reason, tls: exchange.kind === 'unreachable' && exchange.tls };
}

/**
 * The meaning of an answer without a token. Pure. A person has to look where we are refused; whatever may pass by
 * itself, or is no answer of a token endpoint at all, is waited out.
 */
function judgeTokenRefusal(
  answer: Extract<WireExchange, { kind: 'answer' }> | null,
  error: Error,
  tokenUrl: string,
  nowMs: number,
): Refusal {
  const message = outside(error.message);
  if (answer === null) return unavailable(tokenUrl, { code: 'unusable_token', status: null, message });
  const { status, headers } = answer;
  const named = retryAfterMs(headers['retry-after'], nowMs);
  // A granted token is never quoted, whichever success it came with.
  const isGrant = status >= 200 && status < 300;
  // A page may come from what stands before a token endpoint that is down; JSON is what it grants.
  const isItsOwn = typeof parseJson(answer.body) === 'object';
  if (isGrant && isItsOwn) return refused(tokenUrl, { code: 'unusable_token', status, message });
  if (isGrant) return unavailable(tokenUrl, { code: 'unusable_token', status, message }, named);
  const words = errorBody(answer.body);
  const { code } = words;
  const refuses = status >= 300 && status < 500 && status !== 408 && status !== 429;
  const reason: Fact = { code: refuses ? 'http_refused' : 'http_failed', status, ...errorWords(words) };
  if (refuses && !(code !== null && passing.has(code))) return refused(tokenUrl, reason);
  return unavailable(tokenUrl, reason, named);
}
