import { inspect } from 'node:util';

/** The number of secrets to remember that came while the program runs: the ones in use, and those before them. */
const mostLater = 20;

/** Everything that must never be printed: the secrets of the settings, and those that were given or read later. */
export class KnownSecrets {
  readonly #first: readonly string[];
  /** Always the same list, so that its readers see later additions. */
  readonly all: readonly string[];
  readonly #list: string[];

  constructor(first: readonly string[] = []) {
    this.#first = [...first];
    this.#list = [...first];
    this.all = this.#list;
  }

  /** Remembers a secret, besides the older ones: an answer that echoes the last token may come after its renewal. */
  add(secret: string): void {
    if (secret === '' || this.#first.includes(secret)) return;
    const known = this.#list.indexOf(secret, this.#first.length);
    if (known >= 0) this.#list.splice(known, 1);
    this.#list.push(secret);
    if (this.#list.length > this.#first.length + mostLater) this.#list.splice(this.#first.length, 1);
  }
}

const MASK = '[secret]';

/**
 * A value that no log line, error or table shows by accident: however it is printed, it reads `[secret]`.
 * `reveal()` is the only way to the value, so that a search for it lists every place that handles one.
 */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
    Object.freeze(this);
  }

  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return MASK;
  }

  toJSON(): string {
    return MASK;
  }

  [Symbol.toPrimitive](): string {
    return MASK;
  }

  [inspect.custom](): string {
    return MASK;
  }
}

/** Why a text can't be the secret that signs webhooks, or null. The standard's secrets are base64 of 24 to 64 bytes. Pure. */
export function webhookSecretProblem(scheme: 'standard' | 'hmac', secret: string): string | null {
  if (scheme === 'hmac') return secret.length < 16 ? 'has fewer than 16 characters' : null;
  const text = secret.replace(/^whsec_/, '');
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text) || text.length % 4 !== 0)
    return 'is not base64, with or without whsec_ before it';
  const bytes = Buffer.from(text, 'base64').length;
  return bytes < 24 || bytes > 64 ? `has ${bytes} bytes; Standard Webhooks asks for 24 to 64` : null;
}
