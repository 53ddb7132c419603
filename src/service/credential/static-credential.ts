import type { CredentialSettings } from '../../config/sections/service-credential.js';
import type { KnownSecrets } from '../../model/secret.js';
import { type Credential, type Proof, secretText } from './credential.js';
import { WatchedFiles, type WatchedFilesOptions } from './watched-files.js';

export interface StaticCredentialOptions extends Pick<WatchedFilesOptions<string>, 'monotonicMs' | 'warn' | 'files'> {
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

  look(): void {
    this.#token.look();
  }

  changedAtMs(): number | null {
    return this.#token.changedAtMs();
  }

  get version(): number {
    return this.#token.version;
  }
}

/** The connection itself shows who we are, by its client certificate; requests carry nothing. */
export class NoHeader implements Credential {
  readonly version = 0;

  async ready(): Promise<null> {
    return null;
  }

  proof(): Proof {
    return { headers: {}, version: 0 };
  }

  accepted(): void {}

  async renew(): Promise<boolean> {
    return false;
  }

  refused(): void {}

  look(): void {}

  /** There is nothing to change but the certificate, which belongs to the connections. */
  changedAtMs(): number {
    return 0;
  }
}
