import { type Answer, Refusal } from './answer.js';

/** Printable ASCII without space, quote, comma and backslash: what survives every header form unharmed. */
const bareKey = /^[\x21\x23-\x2b\x2d-\x5b\x5d-\x7e]{1,255}$/;

/** Reads the key header in the accepted form. Refuses with 400 what is missing or malformed. */
export function idempotencyKey(header: string | undefined, form: 'either' | 'quoted' | 'bare'): string {
  if (header === undefined || header === '') {
    throw new Refusal(400, 'idempotency_key_missing', 'This request needs an idempotency key');
  }
  const quoted = header.length >= 2 && header.startsWith('"') && header.endsWith('"');
  if (form === 'quoted' && !quoted)
    throw new Refusal(400, 'idempotency_key_invalid', 'The idempotency key must be quoted');
  if (form === 'bare' && quoted)
    throw new Refusal(400, 'idempotency_key_invalid', 'The idempotency key must not be quoted');
  const key = quoted ? header.slice(1, -1) : header;
  if (!bareKey.test(key)) {
    throw new Refusal(
      400,
      'idempotency_key_invalid',
      'The idempotency key must be 1 to 255 printable ASCII characters',
    );
  }
  return key;
}

interface Remembered {
  readonly key: string;
  readonly fingerprint: string;
  readonly beganAtMs: number;
  /** Null while the request is in progress. */
  answer: Answer | null;
}

export type Recall =
  | { kind: 'new'; settle: (answer: Answer) => void }
  | { kind: 'replay'; answer: Answer }
  | { kind: 'in-progress' }
  | { kind: 'reused' };

/** What the service knows of the keys it has seen: it makes one effect of many requests, for as long as it remembers. */
export class IdempotencyMemory {
  /** In order of first use, which is the order of expiry, since all live equally long. */
  readonly #byKey = new Map<string, Remembered>();

  constructor(
    readonly lifetimeMs: number,
    readonly replayRefusals: boolean,
    readonly compareBodies: boolean,
  ) {}

  /** @param fingerprint stands for everything that must be equal for a request to count as the same one. */
  begin(key: string, fingerprint: string, nowMs: number): Recall {
    this.#expire(nowMs);
    const known = this.#byKey.get(key);
    if (!known) {
      const remembered: Remembered = { key, fingerprint, beganAtMs: nowMs, answer: null };
      this.#byKey.set(key, remembered);
      return { kind: 'new', settle: (answer) => this.#settle(remembered, answer) };
    }
    // Asked before "in progress": another body under this key is wrong however far the first has come.
    if (this.compareBodies && known.fingerprint !== fingerprint) return { kind: 'reused' };
    return known.answer ? { kind: 'replay', answer: known.answer } : { kind: 'in-progress' };
  }

  forgetAll(): void {
    this.#byKey.clear();
  }

  #settle(remembered: Remembered, answer: Answer): void {
    // Forgotten or expired in the meantime, and perhaps begun anew: then the place isn't ours any more.
    if (this.#byKey.get(remembered.key) !== remembered) return;
    if (answer.status >= 400 && !this.replayRefusals) this.#byKey.delete(remembered.key);
    else remembered.answer = answer;
  }

  #expire(nowMs: number): void {
    for (const remembered of this.#byKey.values()) {
      if (nowMs - remembered.beganAtMs < this.lifetimeMs) return;
      this.#byKey.delete(remembered.key);
    }
  }
}
