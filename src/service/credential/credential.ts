import type { CredentialSettings } from '../../config/sections/service-credential.js';
import type { Fact } from '../../model/facts/fact.js';
import type { KnownSecrets } from '../../model/secret.js';
import type { Gate } from '../wire/wire-exchange.js';
import { WatchedFiles, type WatchedFilesOptions } from './watched-files.js';

/** Why a request has nothing to show. */
export type CredentialFault =
  /** The source of tokens is out of reach for the moment. */
  | { kind: 'unavailable'; reason: Fact; tls: boolean }
  /** It does not know us: a person has to look. */
  | { kind: 'refused'; reason: Fact }
  /** We did not let the question go. */
  | { kind: 'not_sent'; reason: Fact };

/** The credential that one request shows. */
export interface Proof {
  headers: Readonly<Record<string, string>>;
  /** Tells proofs apart: the one that was refused, and the one after it. */
  version: number;
}

/** The form in which a request shows who we are. */
export interface Credential {
  /** Sees to it that there is a proof. @returns why there is none, or null */
  ready(gate: Gate): Promise<CredentialFault | null>;
  /** The credential of a request that leaves now; null: it is not ready (any more). */
  proof(): Proof | null;
  /** The service answered a request with this proof otherwise than by 401. */
  accepted(version: number): void;
  /** It answered 401. @returns whether there is another proof by now, or why not */
  renew(version: number, gate: Gate): Promise<boolean | CredentialFault>;
  /** It answered 401 to the repetition with this proof, too. */
  refused(version: number): void;
  /** Takes what has changed on disk. See `WatchedFiles.look`. */
  look(atOnce?: boolean): void;
  /** When what it is made of was changed last, in milliseconds since 1970; null: not known, because it is in no file. */
  changedAtMs(): number | null;
  /** Grows with each change of what it is made of. */
  readonly version: number;
}

/** The text of a file with nothing but a secret: less one line break at its end, as the settings read it. */
export function secretText(text: string): string {
  const value = text.replace(/\r?\n$/, '');
  if (value.trim() === '') throw new Error('it is empty');
  return value;
}

interface StaticCredentialOptions extends Pick<WatchedFilesOptions<string>, 'monotonicMs' | 'warn' | 'files'> {
  settings: Extract<CredentialSettings, { kind: 'bearer' | 'apiKey' }>;
  token: string;
  tokenFile: string | undefined;
  secrets: KnownSecrets;
}

/** A bearer token or an API key: what its file says. */
export class StaticCredential implements Credential {
  readonly #settings: StaticCredentialOptions['settings'];
  readonly #token: WatchedFiles<string>;

  constructor({ settings, token, tokenFile, secrets, ...watching }: StaticCredentialOptions) {
    this.#settings = settings;
    const load = ([text = '']: readonly string[]) => {
      const value = secretText(text);
      // The same rule as for the settings: anything else would fail in the header of every request.
      if (!/^[\x21-\x7e]+$/.test(value))
        throw new Error('it holds a space, a line break or a letter outside ASCII, which no header carries');
      secrets.add(value);
      return value;
    };
    this.#token = new WatchedFiles({ ...watching, paths: tokenFile ? [tokenFile] : [], initial: token, load });
  }

  async ready(): Promise<null> {
    this.#token.look();
    return null;
  }

  proof(): Proof {
    const { value, version } = this.#token;
    if (this.#settings.kind === 'bearer') return { headers: { Authorization: `Bearer ${value}` }, version };
    const { header, scheme } = this.#settings;
    return { headers: { [header]: scheme ? `${scheme} ${value}` : value }, version };
  }

  accepted(): void {}

  async renew(version: number): Promise<boolean> {
    this.#token.look(true);
    return this.#token.version !== version;
  }

  refused(): void {}

  look(atOnce = false): void {
    this.#token.look(atOnce);
  }

  changedAtMs(): number | null {
    return this.#token.changedAtMs();
  }

  get version(): number {
    return this.#token.version;
  }
}

/** The connection itself shows who we are, by its client certificate; requests carry nothing. */
export const certificateOnly: Credential = {
  version: 0,
  ready: async () => null,
  proof: () => ({ headers: {}, version: 0 }),
  accepted: () => undefined,
  renew: async () => false,
  refused: () => undefined,
  look: () => undefined,
  // There is nothing to change but the certificate, which belongs to the connections.
  changedAtMs: () => 0,
};

/** Shows what no service gave us, as ours would be shown; null: there is no such thing to show. */
export function wrongCredential(settings: CredentialSettings): Credential | null {
  const wrong = 'waybill-wrong-credential';
  if (settings.kind === 'certificate') return null;
  const { header = 'Authorization', scheme = 'Bearer' } = settings.kind === 'apiKey' ? settings : {};
  const value = settings.kind === 'apiKey' && settings.scheme === undefined ? wrong : `${scheme} ${wrong}`;
  return { ...certificateOnly, proof: () => ({ headers: { [header]: value }, version: 0 }) };
}
