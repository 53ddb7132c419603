import { randomBytes } from 'node:crypto';
import { type Answer, Refusal } from './answer.js';

/** What the sandbox asks of those who want an access token (OAuth 2.0, client credentials). */
export interface TokenRules {
  clientId: string;
  clientSecret: string;
  /** Where the client's name and secret have to stand; `certificate`: the name alone, in the body. */
  authentication: 'basic' | 'post' | 'certificate';
  /** How long a token is taken. */
  lifetimeMs: number;
  /** Whether the answer says so. */
  saysLifetime: boolean;
  /** Has to be asked for when it is set. */
  scope: string | null;
  /** What it answers to everybody; null: what is right. */
  trouble: 'down' | 'html' | 'same-token' | null;
}

export interface TokenCounts {
  requests: number;
  issued: number;
  refused: number;
}

/** Gives access tokens and knows which are good. */
export class TokenDesk {
  readonly counts: TokenCounts = { requests: 0, issued: 0, refused: 0 };
  readonly #expiry = new Map<string, number>();
  #last: string | null = null;

  answer(
    rules: TokenRules,
    authorization: string | undefined,
    body: string,
    nowMs: number,
    echo: string | null,
  ): Answer {
    this.counts.requests++;
    if (rules.trouble === 'down') return new Refusal(503, 'unavailable', 'No tokens at the moment').toAnswer();
    if (rules.trouble === 'html')
      return { status: 200, headers: { 'content-type': 'text/html' }, text: '<html>Log in' };
    const form = new URLSearchParams(body);
    const problem = problemOf(rules, authorization, form);
    if (problem) {
      this.counts.refused++;
      return {
        status: problem === 'invalid_client' ? 401 : 400,
        body: { error: problem, error_description: echo ?? 'No' },
      };
    }
    this.counts.issued++;
    const isSame = rules.trouble === 'same-token' && this.#last !== null;
    const token = isSame && this.#last !== null ? this.#last : `access-${randomBytes(24).toString('base64url')}`;
    this.#last = token;
    if (!isSame) this.#expiry.set(token, nowMs + rules.lifetimeMs);
    const life = rules.saysLifetime ? { expires_in: rules.lifetimeMs / 1000 } : {};
    return { status: 200, body: { access_token: token, token_type: 'Bearer', ...life } };
  }

  isGood(token: string, nowMs: number): boolean {
    return (this.#expiry.get(token) ?? 0) > nowMs;
  }

  /** From now on no token that was given is taken. */
  expireAll(): void {
    this.#expiry.clear();
  }
}

function problemOf(rules: TokenRules, authorization: string | undefined, form: URLSearchParams): string | null {
  if (form.get('grant_type') !== 'client_credentials') return 'unsupported_grant_type';
  const id = rules.authentication === 'basic' ? basic(authorization)?.[0] : form.get('client_id');
  const secret = rules.authentication === 'basic' ? basic(authorization)?.[1] : form.get('client_secret');
  if (id !== rules.clientId) return 'invalid_client';
  if (rules.authentication !== 'certificate' && secret !== rules.clientSecret) return 'invalid_client';
  return rules.scope !== null && form.get('scope') !== rules.scope ? 'invalid_scope' : null;
}

/** Both parts are form-encoded before they are put together (RFC 6749, 2.3.1). */
function basic(authorization: string | undefined): [string, string] | null {
  const given = /^basic +(\S+)$/i.exec(authorization ?? '')?.[1];
  const parts = given && /^([^:]*):(.*)$/.exec(Buffer.from(given, 'base64').toString());
  if (!parts) return null;
  const decode = (part: string) => new URLSearchParams(`x=${part}`).get('x') ?? '';
  return [decode(parts[1] ?? ''), decode(parts[2] ?? '')];
}
