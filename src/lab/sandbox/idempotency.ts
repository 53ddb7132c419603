import type { IncomingHttpHeaders } from 'node:http';
import { type Answer, Refusal } from './answer.js';
import type { SandboxOptions } from './options.js';
import { readJsonObject } from './request-rules.js';

/** Printable ASCII without space, quote, comma and backslash: what survives every header form unharmed. */
const bareKey = /^[\x21\x23-\x2b\x2d-\x5b\x5d-\x7e]{1,255}$/;

/** A request that may carry an idempotency key. */
interface KeyCarrier {
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/** The key as the client wrote it, wherever this service wants it; undefined for none. */
export function sentKey(options: SandboxOptions, { headers, body }: KeyCarrier): string | undefined {
  if (options.keyIn === 'header') return headers[options.keyHeader.toLowerCase()]?.toString();
  try {
    const value = readJsonObject(body)[options.keyField];
    return typeof value === 'string' ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The key of a request that needs one. Refuses with 400 what is missing or malformed. */
export function requiredKey(options: SandboxOptions, request: KeyCarrier): string {
  const isInBody = options.keyIn === 'body';
  // A body that is no JSON object is refused as such, before its key is missed.
  if (isInBody) readJsonObject(request.body);
  const sent = sentKey(options, request);
  if (!sent) throw new Refusal(400, 'idempotency_key_missing', 'This request needs an idempotency key');
  const isQuoted = sent.length >= 2 && sent.startsWith('"') && sent.endsWith('"');
  const form = isInBody ? 'bare' : options.keyForm;
  if (form === 'quoted' && !isQuoted) throw invalid('must be quoted');
  if (form === 'bare' && isQuoted) throw invalid('must not be quoted');
  const key = isQuoted ? sent.slice(1, -1) : sent;
  if (!bareKey.test(key)) throw invalid('must be 1 to 255 printable ASCII characters');
  return key;
}

function invalid(rule: string): Refusal {
  return new Refusal(400, 'idempotency_key_invalid', `The idempotency key ${rule}`);
}

interface RememberedKey {
  readonly fingerprint: string;
  readonly beganAtMs: number;
  /** Null while the request is in progress. */
  answer: Answer | null;
}

/** The keys that the service has seen: many requests take one effect, for as long as it remembers. */
export class IdempotencyMemory {
  /** In order of first use, which is the order of expiry, since all live equally long. */
  readonly #byKey = new Map<string, RememberedKey>();

  constructor(
    readonly options: Pick<SandboxOptions, 'keyLifetimeMs' | 'replayRefusals' | 'compareBodies' | 'repeats'>,
  ) {}

  /**
   * Begins a request, or finds the answer to replay. Throws a Refusal when the key is in progress or was used for
   * another request.
   *
   * @param fingerprint stands for everything that must be equal for a request to count as the same one
   * @returns the first request's answer, or how to remember the answer to this one
   */
  begin(
    key: string,
    fingerprint: string,
    nowMs: number,
  ): { replay: Answer } | { replay: null; settle: (answer: Answer) => void } {
    this.#expire(nowMs);
    const known = this.#byKey.get(key);
    if (!known) {
      const remembered: RememberedKey = { fingerprint, beganAtMs: nowMs, answer: null };
      this.#byKey.set(key, remembered);
      return { replay: null, settle: (answer) => this.#settle(key, remembered, answer) };
    }
    // Asked before "in progress": another body under this key is wrong however far the first has come.
    if (this.options.compareBodies && known.fingerprint !== fingerprint) {
      throw new Refusal(422, 'idempotency_key_reused', 'This idempotency key was used for another request');
    }
    if (known.answer && known.answer.status < 300 && this.options.repeats === 'refuse') {
      throw new Refusal(409, 'duplicate_request', 'A request with this idempotency key was done before');
    }
    if (known.answer) return { replay: known.answer };
    throw new Refusal(409, 'request_in_progress', 'A request with this idempotency key is in progress');
  }

  forgetAll(): void {
    this.#byKey.clear();
  }

  #settle(key: string, remembered: RememberedKey, answer: Answer): void {
    // Forgotten or expired in the meantime, and perhaps begun anew: then the entry belongs to another request.
    if (this.#byKey.get(key) !== remembered) return;
    if (answer.status >= 400 && !this.options.replayRefusals) this.#byKey.delete(key);
    else remembered.answer = answer;
  }

  #expire(nowMs: number): void {
    for (const [key, { beganAtMs }] of this.#byKey) {
      if (nowMs - beganAtMs < this.options.keyLifetimeMs) return;
      this.#byKey.delete(key);
    }
  }
}
