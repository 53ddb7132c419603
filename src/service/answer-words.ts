import type { Fact } from '../model/facts/fact.js';
import { mapOutside, openOutside, outside } from '../model/outside.js';
import type { JsonValue } from '../model/record.js';
import { valueAt } from '../model/record.js';
import { redact, secretMark } from '../model/redact.js';
import type { LookUpFinding, ReadAnswer, Verdict } from '../model/verdict.js';
import { type ErrorPlaces, usualErrorPlaces } from '../model/verdict.js';
import { parseJson } from './parse-json.js';
import type { TimedExchange, WireExchange } from './wire/wire-exchange.js';

interface ErrorBody {
  code: string | null;
  /** One readable line of bounded length. */
  message: string;
  /**
   * The text that patterns of `service.answers` are looked for in: code and message. Other parts of a JSON body may
   * repeat words of the record that was sent. A body that is no JSON counts as a whole.
   */
  searched: string;
}

const maxLength = 300;
/** The part that a person would read. The patterns below take time that grows with the square of a hostile text. */
const maxRead = 10_000;
const maxDetails = 5;

/**
 * Makes one line of whatever a service calls an error: problem+json (RFC 9457), {error:{code,message}}, {message},
 * {errors:[{field,message}]}, text or a page of HTML.
 * @param places where a JSON body says it; see `service.errorBody`
 * @param orWhole JSON without any words is shown as it is
 */
export function errorBody(body: string, places: ErrorPlaces = usualErrorPlaces, orWhole = true): ErrorBody {
  const value = parseJson(body);
  if (typeof value === 'object' && value !== null) {
    const code = firstText(value, places.code);
    const words = firstText(value, places.message);
    const details = places.details.map((place) => inWords(valueAt(value, place))).find((found) => found !== '') ?? '';
    const isMore = details !== '' && details !== words;
    const whole = isMore ? `${words} (${details})` : words;
    const message = words === null ? details : whole;
    return {
      code: code && oneLine(code),
      message: oneLine(message || (orWhole ? body.slice(0, maxRead) : '')),
      searched: [code, message].filter(Boolean).join(' ').slice(0, maxRead),
    };
  }
  const start = body.slice(0, maxRead);
  const text = /<html|<!doctype|<body/i.test(start)
    ? start.replace(/<(script|style)[\s\S]*?<\/\1>/gi, ' ').replace(/<[^>]*>/g, ' ')
    : start;
  return { code: null, message: oneLine(text), searched: start };
}

/** The words as part of a fact. They must be without our credentials already. */
export function errorWords({ code, message }: Pick<ErrorBody, 'code' | 'message'>) {
  return { errorCode: code === null ? null : outside(code), message: message === '' ? null : outside(message) };
}

function firstText(value: unknown, places: readonly string[]): string | null {
  for (const place of places) {
    const found = plain(valueAt(value, place));
    if (found !== null) return found;
  }
  return null;
}

function plain(value: unknown): string | null {
  if (typeof value === 'string' && value !== '') return value.slice(0, maxLength);
  return typeof value === 'number' ? String(value) : null;
}

/** Which fields are wrong, in words: of texts, of objects with field and message, of a list of either, or of lists by field. */
function inWords(value: unknown): string {
  const text = plain(value);
  if (text !== null) return text;
  if (typeof value !== 'object' || value === null) return '';
  if (Array.isArray(value)) return listed(value.map(inWords));
  const says = firstText(value, ['message', 'detail', 'reason', 'title', 'msg']);
  const field = firstText(value, ['field', 'name', 'path', 'pointer', 'param']);
  if (says !== null) return field === null ? says : `${field}: ${says}`;
  const byField = Object.entries(value).map(([name, found]) => [
    name,
    Array.isArray(found) ? listed(found.map(plain)) : plain(found),
  ]);
  return listed(byField.map(([name, found]) => (found ? `${name?.slice(0, maxLength)}: ${found}` : '')));
}

function listed(found: readonly (string | null)[]): string {
  const said = found.filter((one) => one !== null && one !== '');
  const more = said.length > maxDetails ? [`${said.length - maxDetails} more`] : [];
  return [...said.slice(0, maxDetails), ...more].join('; ');
}

function oneLine(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a service's control characters must not reach a terminal
  const line = text.replace(/[\s\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]+/g, ' ').trim();
  // Half of a pair, which a cut may leave behind, is no text that every database takes.
  const cut = line.length > maxLength ? `${line.slice(0, maxLength - 1)}…` : line;
  return cut.replaceAll(/\p{Surrogate}/gu, '\ufffd');
}

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

/** Keeps the form of every decimal in rewritten text, because any may be an amount. */
const isAnyAmount = () => true;

/** A secret of fewer characters may turn up by chance. */
const leastTelling = 12;

/** The part of an answer that may be kept, shown and logged: everything but our secrets, which a service may echo. */
export class AnswerRedaction {
  /** @param secrets asked each time: a credential may be replaced while the program runs */
  constructor(private readonly secrets: () => readonly string[]) {}

  /**
   * Redacted before anything is cut out of the body. A success stays as it is: it is checked by its exact words.
   * @param answers the statuses that answer what was asked
   */
  exchange(exchange: WireExchange, answers: readonly number[]): WireExchange {
    if (exchange.kind !== 'answer') return { ...exchange, reason: this.#fact(exchange.reason) };
    const { kind, status, headers, body } = exchange;
    const quotable = () => redact(body, this.secrets());
    // Field by field: to spread it would take as long as all the rest of the judgement.
    if (status < 300 && answers.includes(status)) return { kind, status, headers, body, quotable };
    return { kind, status, headers, body: quotable() };
  }

  /** @param knownIds what the record is called already, and a customer by our own code; any other id is the answer's */
  verdict(verdict: Judged, knownIds: readonly (JsonValue | undefined)[], status: number): Judged {
    const says = 'serviceId' in verdict && !knownIds.includes(verdict.serviceId) ? verdict.serviceId : null;
    if (says !== null && this.holdsCredential(says)) {
      const problem = { code: 'credential_in_id' } as const;
      if (verdict.kind === 'found') return { kind: 'odd', reason: problem };
      return { kind: 'invalid', reason: { code: 'no_acknowledgement', status, problem } };
    }
    if (verdict.kind === 'found') return { ...verdict, shown: JSON.parse(this.#redactedJson(verdict.shown) ?? '{}') };
    if (verdict.kind === 'conflict' && verdict.existing && this.holdsCredential(verdict.existing.serviceId)) {
      // Its id is not to be had from this answer; the service is asked.
      const { existing: _, ...without } = verdict;
      return this.verdict(without, knownIds, status);
    }
    if ('reason' in verdict) return { ...verdict, reason: this.#fact(verdict.reason) };
    if (verdict.kind !== 'delivered' || verdict.state === undefined) return verdict;
    return { ...verdict, state: redact(verdict.state, this.secrets()) };
  }

  /** Takes our credentials out of the texts from outside in a fact. */
  #fact<F extends Fact>(fact: F): F {
    return mapOutside(fact, (text) => outside(redact(openOutside(text), this.secrets())));
  }

  /** The JSON that answers a question, with our credentials taken out of every text and name: what is read of it is kept as it is. */
  readable(body: string): string {
    const telling = this.#telling();
    // If letters are written as codes, a credential shows only once they are read.
    const value = body.includes('\\u') ? parseJson(body, isAnyAmount) : undefined;
    const plain = value === undefined ? body : JSON.stringify(value);
    if (redact(plain, telling) === plain) return body;
    return this.#redactedJson(value ?? parseJson(body, isAnyAmount)) ?? redact(body, telling);
  }

  /** JSON of a value, with our credentials taken out of every text and every name. */
  #redactedJson(value: unknown): string | undefined {
    const telling = this.#telling();
    return JSON.stringify(value, (_name, part: unknown) => {
      if (typeof part === 'string') return redact(part, telling);
      if (typeof part !== 'object' || part === null || Array.isArray(part)) return part;
      return Object.fromEntries(Object.entries(part).map(([name, inner]) => [redact(name, telling), inner]));
    });
  }

  /** True if one of our credentials stands in a text, or stood there before it was taken out. */
  holdsCredential(text: string): boolean {
    return text.includes(secretMark) || redact(text, this.#telling()) !== text;
  }

  /** The secrets to take out of texts that are kept as they are, such as ids. A short secret may be part of an honest one. */
  #telling(): string[] {
    return this.secrets().filter(({ length }) => length >= leastTelling);
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
