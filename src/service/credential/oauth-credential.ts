import type { OauthSettings } from '../../config/sections/service-credential.js';
import { doubledMs } from '../../model/backoff.js';
import type { KnownSecrets } from '../../model/secret.js';
import type { Gate } from '../wire/wire-exchange.js';
import { type Credential, type CredentialFault, type Proof, secretText } from './credential.js';
import { basicCredentials, formEncoded, requestToken, type SendTokenRequest } from './request-token.js';
import { WatchedFiles, type WatchedFilesOptions } from './watched-files.js';

/** However short a token is said to live, it is used for so long: its end is answered by 401 anyway. */
const leastLifeMs = 5_000;
const backoff = { baseMs: 1_000, maxMs: 60_000 };

/**
 * When a token is to be replaced, and from when it is not used any more. Pure.
 * @param askedAtMs monotonic; its life is counted from there, because the answer has been on its way
 */
export function expiryOf(
  lifetimeMs: number | null,
  askedAtMs: number,
  marginMs: number,
): { renewAtMs: number | null; expiresAtMs: number | null } {
  if (lifetimeMs === null) return { renewAtMs: null, expiresAtMs: null };
  return {
    renewAtMs: askedAtMs + lifetimeMs - Math.min(marginMs, lifetimeMs / 2),
    // A moment less: the request has a way before it, too.
    expiresAtMs: askedAtMs + Math.max(leastLifeMs, lifetimeMs - Math.min(2_000, lifetimeMs / 10)),
  };
}

/**
 * The time to wait after a token was not to be had. Pure. If it was refused, a pause stops all requests, and the end of
 * that pause should find no further wait.
 * @param failures in a row, from 1
 * @param random in [0, 1)
 */
export function retryWaitMs(kind: 'unavailable' | 'refused', failures: number, random: number): number {
  if (kind === 'refused') return 1_000;
  return doubledMs(failures, backoff) * (0.5 + random / 2);
}

export interface OauthCredentialOptions extends Pick<WatchedFilesOptions<string>, 'monotonicMs' | 'warn' | 'files'> {
  settings: OauthSettings;
  /** Sends the question through the transport, past this gate. */
  send: (request: Parameters<SendTokenRequest>[0], gate: Gate) => ReturnType<SendTokenRequest>;
  secrets: KnownSecrets;
  nowMs: () => number;
  random: () => number;
  /** Told of each token that came, and of each that did not. */
  onAnswer?: (fault: CredentialFault | null) => void;
}

interface Token {
  value: string;
  version: number;
  /** Monotonic times; null: the one who gave it does not say. */
  renewAtMs: number | null;
  expiresAtMs: number | null;
  /** It replaced one that was answered 401. */
  followsRefused: boolean;
  /** The service's words about it. `hopeless`: refused like the one before it, so that a third one would fare no better. */
  state: 'new' | 'accepted' | 'refused' | 'hopeless';
}

/** Access tokens by OAuth 2.0 client credentials: one request for a token at a time, for all who wait for it. */
export class OauthCredential implements Credential {
  readonly #secret: WatchedFiles<string | null>;
  #token: Token | null = null;
  #tokens = 0;
  #flight: Promise<CredentialFault | null> | null = null;
  #failures = 0;
  #failed: { fault: CredentialFault; untilMs: number } | null = null;
  #secretVersion = 0;

  constructor(private readonly options: OauthCredentialOptions) {
    const { clientSecret, clientSecretFile } = options.settings;
    this.#secret = new WatchedFiles<string | null>({
      ...options,
      paths: clientSecretFile ? [clientSecretFile] : [],
      initial: clientSecret?.reveal() ?? null,
      load: ([text = '']) => secretText(text),
    });
    this.#learnSecret();
  }

  async ready(gate: Gate): Promise<CredentialFault | null> {
    this.look();
    const token = this.#token;
    const now = this.options.monotonicMs();
    if (!token || !isGood(token, now)) return this.#renewed(gate);
    // Renew before it expires: requests meanwhile go on with the old one, also when no new one is to be had yet.
    if (token.renewAtMs !== null && now >= token.renewAtMs) this.#renewed(gate).catch(() => undefined);
    return null;
  }

  proof(): Proof | null {
    const token = this.#token;
    if (!token || !isGood(token, this.options.monotonicMs())) return null;
    return { headers: { Authorization: `Bearer ${token.value}` }, version: token.version };
  }

  accepted(version: number): void {
    if (this.#token?.version === version && this.#token.state === 'new') this.#token.state = 'accepted';
  }

  async renew(version: number, gate: Gate): Promise<boolean | CredentialFault> {
    const token = this.#token;
    if (!token) return false;
    if (token.version === version && (token.state === 'new' || token.state === 'accepted')) {
      token.state = token.followsRefused && token.state === 'new' ? 'hopeless' : 'refused';
      this.look(true);
    }
    if (token.state === 'hopeless') return false;
    if (token.state !== 'refused') return true;
    const fault = await this.#renewed(gate);
    if (fault) return fault;
    if (this.#token?.value !== token.value) return true;
    this.#token.state = 'hopeless';
    return false;
  }

  refused(version: number): void {
    if (this.#token?.version === version) this.#token.state = 'hopeless';
  }

  look(atOnce = false): void {
    this.#secret.look(atOnce);
    this.#learnSecret();
  }

  changedAtMs(): number | null {
    return this.#secret.changedAtMs();
  }

  get version(): number {
    return this.#secret.version;
  }

  /** The request for a token that is under way, or a new one; after a failure not before its time. */
  #renewed(gate: Gate): Promise<CredentialFault | null> {
    if (this.#flight) return this.#flight;
    const failed = this.#failed;
    if (failed && this.options.monotonicMs() < failed.untilMs) return Promise.resolve(failed.fault);
    this.#flight = this.#ask(gate).finally(() => {
      this.#flight = null;
    });
    return this.#flight;
  }

  async #ask(gate: Gate): Promise<CredentialFault | null> {
    const { settings, send, nowMs, monotonicMs, random, secrets, onAnswer } = this.options;
    const askedAtMs = monotonicMs();
    const answer = await requestToken(settings, this.#secret.value, (request) => send(request, gate), nowMs, secrets);
    if (answer.kind === 'fault') {
      const { fault } = answer;
      if (fault.kind !== 'not_sent') {
        this.#failures++;
        const waitMs = Math.max(retryWaitMs(fault.kind, this.#failures, random()), answer.retryAfterMs ?? 0);
        this.#failed = { fault, untilMs: monotonicMs() + waitMs };
        onAnswer?.(fault);
      }
      return fault;
    }
    this.#failures = 0;
    this.#failed = null;
    secrets.add(answer.token);
    this.#token = {
      value: answer.token,
      version: ++this.#tokens,
      ...expiryOf(answer.lifetimeMs, askedAtMs, settings.refreshBeforeSeconds * 1000),
      followsRefused: this.#token?.state === 'refused' || this.#token?.state === 'hopeless',
      state: 'new',
    };
    onAnswer?.(null);
    return null;
  }

  /** A new secret of the client: it is asked with at once, and none of its writings may be printed. */
  #learnSecret(): void {
    const { secrets, settings } = this.options;
    const { value, version } = this.#secret;
    if (value !== null) {
      secrets.add(value);
      secrets.add(formEncoded(value));
      secrets.add(basicCredentials(settings.clientId, value));
    }
    if (version === this.#secretVersion) return;
    this.#secretVersion = version;
    this.#failed = null;
    this.#failures = 0;
  }
}

function isGood({ expiresAtMs, state }: Token, nowMs: number): boolean {
  return (state === 'new' || state === 'accepted') && (expiresAtMs === null || nowMs < expiresAtMs);
}
