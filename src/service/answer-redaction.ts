import type { JsonValue } from '../model/record.js';
import { redact } from '../model/redact.js';
import type { LookUpFinding, ReadAnswer, Verdict } from '../model/verdict.js';
import type { TimedExchange, WireExchange } from './wire/wire-exchange.js';

type Judged = Verdict | LookUpFinding | ReadAnswer<unknown>;

const maxExcerpt = 500;

/**
 * A bounded excerpt of a body for the audit, with everything taken out that looks like a credential, and without control
 * characters, which would reach a reader's terminal.
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
  /** @param secrets asked each time: a credential may be replaced while the program runs */
  constructor(private readonly secrets: () => readonly string[]) {}

  /**
   * Redacted before anything is cut out of the body. A success stays as it is: it is checked by its exact words.
   * @param answers the statuses that answer what was asked
   */
  exchange(exchange: WireExchange, answers: readonly number[]): WireExchange {
    if (exchange.kind !== 'answer') return { ...exchange, reason: redact(exchange.reason, this.secrets()) };
    const isSuccess = exchange.status < 300 && answers.includes(exchange.status);
    return isSuccess ? exchange : { ...exchange, body: redact(exchange.body, this.secrets()) };
  }

  /** @param knownIds what the record is called already, and a customer by our own code; any other id is the answer's */
  verdict(verdict: Judged, knownIds: readonly (JsonValue | undefined)[]): Judged {
    const says = 'serviceId' in verdict && !knownIds.includes(verdict.serviceId) ? verdict.serviceId : null;
    if (says !== null && this.#holdsCredential(says)) {
      const reason = 'the id that it names holds our credential';
      if (verdict.kind === 'found') return { kind: 'odd', reason };
      return { kind: 'invalid', reason: `no valid acknowledgement: ${reason}` };
    }
    if ('reason' in verdict) return { ...verdict, reason: redact(verdict.reason, this.secrets()) };
    if (verdict.kind !== 'delivered' || verdict.state === undefined) return verdict;
    return { ...verdict, state: redact(verdict.state, this.secrets()) };
  }

  /** An id is kept and shown as it is. A short secret may be part of an honest one. */
  #holdsCredential(id: string): boolean {
    return (
      redact(
        id,
        this.secrets().filter(({ length }) => length >= leastTelling),
      ) !== id
    );
  }

  /** The service's own name for the request, by which its support finds it. */
  requestId({ exchange }: TimedExchange): string | null {
    if (exchange.kind !== 'answer' && exchange.kind !== 'cut_off') return null;
    const id = exchange.headers['x-request-id'] ?? exchange.headers['request-id'];
    return id === undefined ? null : redact(id, this.secrets());
  }

  excerpt({ exchange }: TimedExchange): string | null {
    return exchange.kind === 'answer' && exchange.body !== '' ? excerptOf(exchange.body, this.secrets()) : null;
  }
}
