import { randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { type Answer, Refusal } from './answer.js';
import type { SandboxOptions, TokenRules } from './options.js';

/** The refusal of a request whose credential is wrong or forbidden; null when it may pass. */
export function refuseCredential(
  { options, tokens }: { options: SandboxOptions; tokens: TokenDesk },
  { path, headers }: { path: string; headers: IncomingHttpHeaders },
): Answer | null {
  if (!isKnown(options, tokens, headers)) {
    const refusal = new Refusal(401, 'unauthorized', `A valid credential is needed${echo(options, headers)}`);
    return { ...refusal.toAnswer(), headers: { 'www-authenticate': 'Bearer' } };
  }
  if (!options.forbidden && !options.forbiddenPaths.some((one) => path.startsWith(one))) return null;
  return new Refusal(403, 'forbidden', `This account may not do that${echo(options, headers)}`).toAnswer();
}

function echo({ echoCredentials, apiKey }: SandboxOptions, headers: IncomingHttpHeaders): string {
  if (!echoCredentials) return '';
  return `: ${[headers.authorization, apiKey && headers[apiKey.header.toLowerCase()]].filter(Boolean).join(' and ')}`;
}

function isKnown(options: SandboxOptions, tokens: TokenDesk, headers: IncomingHttpHeaders): boolean {
  const { token, apiKey, oauth, byCertificate, nowMs } = options;
  // A client without a certificate did not get through the handshake.
  if (byCertificate) return true;
  // The scheme's name is case-insensitive (RFC 9110, 11.1), the token isn't.
  const bearer = /^bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1];
  if (oauth) return bearer !== undefined && tokens.accepts(bearer, nowMs());
  if (!apiKey) return bearer === token;
  return headers[apiKey.header.toLowerCase()] === (apiKey.scheme === undefined ? token : `${apiKey.scheme} ${token}`);
}

/** Issues access tokens and knows which are good. */
export class TokenDesk {
  readonly counts = { requests: 0, issued: 0, refused: 0 };
  readonly #expiry = new Map<string, number>();
  #last: string | null = null;

  /** Answers a request for a token. */
  answer(
    rules: TokenRules,
    { echoCredentials, nowMs }: SandboxOptions,
    authorization: string | undefined,
    body: string,
  ): Answer {
    this.counts.requests++;
    if (rules.trouble === 'down') return new Refusal(503, 'unavailable', 'No tokens at the moment').toAnswer();
    if (rules.trouble === 'html') {
      return { status: 200, headers: { 'content-type': 'text/html' }, text: '<html>Log in' };
    }
    const error = errorOf(rules, authorization, new URLSearchParams(body));
    if (error) {
      this.counts.refused++;
      const error_description = echoCredentials ? `${authorization} ${body}` : 'No';
      return { status: error === 'invalid_client' ? 401 : 400, body: { error, error_description } };
    }
    this.counts.issued++;
    if (rules.trouble !== 'same-token' || this.#last === null) {
      this.#last = `access-${randomBytes(24).toString('base64url')}`;
      this.#expiry.set(this.#last, nowMs() + rules.lifetimeMs);
    }
    const life = rules.saysLifetime ? { expires_in: rules.lifetimeMs / 1000 } : {};
    return { status: 200, body: { access_token: this.#last, token_type: 'Bearer', ...life } };
  }

  accepts(token: string, nowMs: number): boolean {
    return (this.#expiry.get(token) ?? 0) > nowMs;
  }

  /** Accepts none of the tokens issued so far any more. */
  expireAll(): void {
    this.#expiry.clear();
  }
}

/** The error code of RFC 6749 (5.2) for a request that the rules don't allow. */
function errorOf(rules: TokenRules, authorization: string | undefined, form: URLSearchParams): string | null {
  if (form.get('grant_type') !== 'client_credentials') return 'unsupported_grant_type';
  const isBasic = rules.authentication === 'basic';
  const [id, secret] = isBasic ? basicCredentials(authorization) : [form.get('client_id'), form.get('client_secret')];
  if (id !== rules.clientId) return 'invalid_client';
  if (rules.authentication !== 'certificate' && secret !== rules.clientSecret) return 'invalid_client';
  return rules.scope !== null && form.get('scope') !== rules.scope ? 'invalid_scope' : null;
}

/** Id and secret, each form-encoded before they are put together (RFC 6749, 2.3.1). */
function basicCredentials(authorization: string | undefined): string[] {
  const given = /^basic +(\S+)$/i.exec(authorization ?? '')?.[1] ?? '';
  const [, ...parts] = /^([^:]*):(.*)$/.exec(Buffer.from(given, 'base64').toString()) ?? [];
  return parts.map((part) => new URLSearchParams(`x=${part}`).get('x') ?? '');
}
