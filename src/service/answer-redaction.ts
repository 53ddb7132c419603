import type { JsonValue } from '../model/record.js';
import { redact } from '../model/redact.js';
import type { LookUpFinding, Verdict } from '../model/verdict.js';
import type { Exchange, TimedExchange } from './exchange.js';

const maxExcerpt = 500;

/**
 * A bounded excerpt of a body for the audit, with everything taken out that looks like a credential, and without control
 * characters, which would reach the terminal of whoever reads it.
 * @param secrets the values that are known, e.g. the token in use
 */
export function excerptOf(body: string, secrets: readonly string[]): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: see above
  const plain = redact(body, secrets).replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, ' ');
  return plain.slice(0, maxExcerpt);
}

/** A secret of fewer characters may turn up by chance. */
const leastTelling = 12;

/** What of an answer may be kept, shown and logged: everything but our secrets, which a service may echo. */
export class AnswerRedaction {
  readonly #secrets: () => readonly string[];

  /** @param secrets asked each time: a credential may be replaced while the program runs */
  constructor(secrets: () => readonly string[]) {
    this.#secrets = secrets;
  }

  /**
   * Redacted before anything is cut out of the body. A success stays as it is: it is checked by its exact words.
   * @param successStatus null: every status below 300 is one
   */
  exchange(exchange: Exchange, successStatus: number | null): Exchange {
    if (exchange.kind !== 'answer') return { ...exchange, reason: redact(exchange.reason, this.#secrets()) };
    const isSuccess = successStatus === null ? exchange.status < 300 : exchange.status === successStatus;
    return isSuccess ? exchange : { ...exchange, body: redact(exchange.body, this.#secrets()) };
  }

  /** @param expectedId what the record is called already; null: the answer may name it */
  verdict(verdict: Verdict, expectedId: string | null): Verdict {
    if (verdict.kind === 'delivered' && verdict.serviceId !== expectedId && this.#holdsCredential(verdict.serviceId))
      return { kind: 'invalid', reason: 'no valid acknowledgement: the id that it names holds our credential' };
    if (verdict.kind === 'delivered')
      return verdict.state === undefined ? verdict : { ...verdict, state: redact(verdict.state, this.#secrets()) };
    return { ...verdict, reason: redact(verdict.reason, this.#secrets()) };
  }

  finding(finding: LookUpFinding | null, record: { [name: string]: JsonValue }): LookUpFinding | null {
    if (finding?.kind !== 'found') return finding;
    const { serviceId } = finding;
    // Customers may be called by our own code.
    if (Object.values(record).includes(serviceId) || !this.#holdsCredential(serviceId)) return finding;
    return { kind: 'odd', reason: 'the id that it names holds our credential' };
  }

  /** An id is kept and shown as it is. A short secret may be part of an honest one. */
  #holdsCredential(id: string): boolean {
    return (
      redact(
        id,
        this.#secrets().filter(({ length }) => length >= leastTelling),
      ) !== id
    );
  }

  /** The service's own name for the request, by which its support finds it. */
  requestId({ exchange }: TimedExchange): string | null {
    if (exchange.kind !== 'answer' && exchange.kind !== 'cut_off') return null;
    const id = exchange.headers['x-request-id'] ?? exchange.headers['request-id'];
    return id === undefined ? null : redact(id, this.#secrets());
  }

  excerpt({ exchange }: TimedExchange): string | null {
    return exchange.kind === 'answer' && exchange.body !== '' ? excerptOf(exchange.body, this.#secrets()) : null;
  }
}
