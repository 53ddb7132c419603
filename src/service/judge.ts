import type { ServiceSettings } from '../config/sections/service.js';
import type { AnswerPattern } from '../config/sections/service-answers.js';
import type { Fact } from '../model/facts/fact.js';
import { outside } from '../model/outside.js';
import { type Entity, valueAt } from '../model/record.js';
import { type Failure, type FoundRecord, Unusable } from '../model/verdict.js';
import { errorBody, errorWords } from './answer-words.js';
import { type AnswerPlaces, findFailureMark } from './failure-mark.js';
import { parseJson } from './parse-json.js';
import { retryAfterMs } from './rate-limit/rate-limit-headers.js';
import type { WireExchange } from './wire/wire-exchange.js';

/** The marks by which `service.answers` tells answers apart. */
type NamedAnswer = Pick<ReturnType<typeof errorBody>, 'code' | 'searched'> & { status: number };

/** True if an answer is one of those that the profile names. Pure. */
export function matchesAnswer(patterns: readonly AnswerPattern[], { status, code, searched }: NamedAnswer): boolean {
  return patterns.some(
    (pattern) =>
      pattern.status === status &&
      (pattern.code === undefined || pattern.code === code) &&
      // Services write in_progress, in-progress or "in progress"; `.` in the default patterns stands for any of them.
      (pattern.pattern === undefined || new RegExp(pattern.pattern, 'i').test(searched)),
  );
}

/**
 * The time for which the service has shut us out, in milliseconds; null if an answer says nothing of the kind. A lack
 * of permission has no end, so a 403 that names one is a block, as is everything that the profile calls one. Pure.
 */
export function blockedMs(
  profile: Pick<ServiceSettings, 'answers' | 'blockedSeconds'>,
  answer: NamedAnswer & { headers: Readonly<Record<string, string>> },
  nowMs: number,
): number | null {
  const { status, headers } = answer;
  const header = headers['retry-after']?.trim();
  // "Now" and a date in the past name no time.
  const named = retryAfterMs(headers['retry-after'], nowMs) || null;
  if (matchesAnswer(profile.answers.blocked, answer)) return named ?? profile.blockedSeconds * 1000;
  // A time that can't be read is one all the same; "now" and the past are none.
  const isUnread = header !== undefined && header !== '' && retryAfterMs(header, nowMs) === null;
  if (status !== 403) return null;
  return isUnread ? profile.blockedSeconds * 1000 : named;
}

/** The kind of request, and the reader of its answer. */
export interface Expectation<Answer> {
  asks: 'create' | 'update' | 'delete' | 'look_up' | 'read';
  entity: Entity | 'invoice';
  /** The statuses that answer. */
  answers: readonly number[];
  places: AnswerPlaces;
  /**
   * Reads a complete answer with one of them that does not say that it failed.
   * @param json of the body; undefined: the body is none
   * @returns why it is none
   */
  read: (status: number, json: unknown, body: string) => Answer | Unusable;
  /** The meaning of "the record is gone" in this answer; see `service.answers.gone`. */
  gone?: ((reason: Fact) => Answer) | undefined;
  /** Reads the record from an answer "already exists". */
  existing?: ((body: string) => FoundRecord | null) | undefined;
  /**
   * An earlier request with the same key may have made the record: any success that shows it answers as well. Absent: none may.
   */
  isRepeated?: boolean;
  /** The setting that names the success status of a write. */
  successSetting?: string;
}

type VerdictProfile = Pick<ServiceSettings, 'answers' | 'blockedSeconds' | 'errorBody' | 'idempotency'>;

/**
 * The proof of an exchange: of a write, a look-up or a read. Pure; one question a paragraph, in the order of the table
 * in docs/architecture.md. For what is not listed the answer is `in_doubt`: the same key and bytes again can do no
 * harm.
 */
export function judge<Answer>(
  profile: VerdictProfile,
  expected: Expectation<Answer>,
  exchange: WireExchange,
  nowMs: number,
): Answer | Failure {
  if (!('status' in exchange)) return withoutAnswer(exchange);

  const { status, headers } = exchange;
  const isCutOff = exchange.kind === 'cut_off';
  const body = isCutOff ? '' : exchange.body;

  const isNamed = expected.answers.includes(status) && !isCutOff;
  const isSuccess = status >= 200 && status < 300 && !isCutOff;
  const json = isNamed || isSuccess ? parseAnswer(expected.places, body) : undefined;
  // The service's own "no" comes with a success status, too. It is no proof that nothing took effect.
  const failure = isSuccess ? findFailureMark(json, expected.places, profile.errorBody) : null;
  const answer = failure === null ? readNamed(expected, { status, body, json, isNamed, isSuccess }) : null;
  if (answer !== null) return answer;

  const quotable = exchange.kind === 'answer' ? (exchange.quotable?.() ?? body) : body;
  // The record that a failed success echoes is no reason: it holds personal data, and equal refusals would not look equal.
  const error = errorBody(quotable, profile.errorBody, failure === null);
  const reason = isCutOff
    ? exchange.reason
    : (redirection(status, error, headers.location) ?? reasonOf(status, error, failure));
  const named = { ...error, status };
  const matches = (patterns: readonly AnswerPattern[]) => matchesAnswer(patterns, named);
  const { asks, entity } = expected;

  // A record that is not there needs no removal: an attempt whose answer was lost removed it, or somebody else did.
  const namesCustomer = entity === 'order' && matches(profile.answers.unknownCustomer);
  if (expected.gone && !isCutOff && matches(profile.answers.gone) && !namesCustomer) return expected.gone(reason);

  // An answer that the profile names goes before the usual meaning of a status: some services say "in progress" with a 429 or
  // a 503. A read carries no key and makes nothing, so none of these names can mean its answer.
  if (!isCutOff && asks !== 'read') {
    if (matches(profile.answers.inProgress)) return { kind: 'busy', reason };
    const isKeyReused = profile.idempotency.comparesBodies && matches(profile.answers.keyReused);
    if (isKeyReused) return conflict('key_reused', expected, reason, body);
    if (matches(profile.answers.alreadyExists)) return conflict('already_exists', expected, reason, body);
    if (namesCustomer) return { kind: 'unknown_customer', reason };
  }

  const blockMs = blockedMs(profile, { ...named, headers }, nowMs);
  if (blockMs !== null)
    return {
      kind: 'throttled',
      reason,
      retryAfterMs: blockMs,
      ...(status >= 400 && status < 500 ? {} : { mayHaveTakenEffect: true as const }),
    };

  const likeness = likenessOf(status, error);
  if (failure !== null) return { kind: 'invalid', reason, saysFailed: true, likeness };

  const taken = { asks, status, reason, isCutOff, likeness, soundsBlocked: soundsBlocked.test(named.searched) };
  return asksForPatience(taken, headers['retry-after'], nowMs) ?? byStatus(taken) ?? byAnswer(expected, taken, body);
}

/** Reads an answer with one of the statuses that answer, or one to a repetition; null: it is none. */
function readNamed<Answer>(
  expected: Expectation<Answer>,
  said: { status: number; body: string; json: unknown; isNamed: boolean; isSuccess: boolean },
): Answer | Failure | null {
  const { status, body, json, isNamed, isSuccess } = said;
  // Many services answer 201 to the first request with a key, and 200 to the next; 202 promises only.
  const isOfRepetition = expected.isRepeated === true && isSuccess && status !== 202;
  if (!isNamed && !(isOfRepetition && showsId(json, expected.places))) return null;
  const answer = expected.read(status, json, body);
  if (!(answer instanceof Unusable)) return answer;
  if (!isNamed) return null;
  const isAcknowledgement = expected.asks !== 'look_up' && expected.asks !== 'read';
  const code = isAcknowledgement ? 'no_acknowledgement' : 'unusable_answer';
  return { kind: 'invalid', reason: { code, status, problem: answer.problem } as Fact };
}

function showsId(json: unknown, { id }: AnswerPlaces): boolean {
  return id !== null && valueAt(json, id) !== undefined;
}

function conflict(
  what: 'key_reused' | 'already_exists',
  expected: Expectation<unknown>,
  reason: Fact,
  body: string,
): Failure {
  const existing = expected.existing?.(body);
  return { kind: 'conflict', reason, what, ...(existing ? { existing } : {}) };
}

/** Why a redirect is no answer, with origin and path that it names; null: it is none, or names none. */
function redirection(status: number, error: ReturnType<typeof errorBody>, location: string | undefined): Fact | null {
  if (status < 300 || status >= 400 || !location) return null;
  const address = location.replace(/[?#].*$/s, '').replace(/\/\/[^/@]*@/, '//');
  return { code: 'http_redirected', status, ...errorWords(error), location: outside(address, 200) };
}

function reasonOf(status: number, error: ReturnType<typeof errorBody>, mark: string | null): Fact {
  const words = errorWords(error);
  if (mark !== null) return { code: 'success_says_failed', status, ...words, mark: outside(mark) };
  return { code: status >= 300 && status < 500 ? 'http_refused' : 'http_failed', status, ...words };
}

/** Many refusals that are alike are hardly about their records. */
function likenessOf(status: number, { code, message }: ReturnType<typeof errorBody>): string {
  return `${status} ${code ?? ''}: ${message}`.replace(/\d+/g, '#');
}

/** A request that got no status. */
function withoutAnswer(exchange: Exclude<WireExchange, { status: number }>): Failure {
  const { reason } = exchange;
  if (exchange.kind === 'not_sent') return { kind: 'not_sent', reason };
  if (exchange.kind === 'unreachable') return { kind: 'unavailable', reason, tls: exchange.tls };
  return { kind: exchange.kind === 'no_credential' ? 'unauthorised' : 'in_doubt', reason };
}

/** An answer that the profile does not name. */
interface UnnamedAnswer {
  asks: Expectation<unknown>['asks'];
  status: number;
  reason: Fact;
  isCutOff: boolean;
  likeness: string;
  soundsBlocked: boolean;
}

/** A 429 is decided before the idempotency layer of a service: nothing took effect. A 503 may come after it. */
function asksForPatience(
  { status, reason }: UnnamedAnswer,
  retryAfter: string | undefined,
  nowMs: number,
): Failure | null {
  if (status === 429) return { kind: 'throttled', reason, retryAfterMs: retryAfterMs(retryAfter, nowMs) };
  if (status !== 503 || retryAfter === undefined) return null;
  return { kind: 'throttled', reason, retryAfterMs: retryAfterMs(retryAfter, nowMs), mayHaveTakenEffect: true };
}

/** Verdict by the status where it says enough; null: it does not. */
function byStatus({ status, reason, isCutOff, ...words }: UnnamedAnswer): Failure | null {
  if (status === 401) return { kind: 'unauthorised', reason };
  if (status === 403 || status === 407)
    return {
      kind: 'misconfigured',
      reason:
        status === 403 && words.soundsBlocked && reason.code === 'http_refused'
          ? { ...reason, code: 'http_perhaps_blocked' }
          : reason,
    };
  if (status >= 300 && status < 400) return { kind: 'misconfigured', reason, mayHaveTakenEffect: true };

  // Without its body a success does not say what it acknowledged, nor a 409 whether something exists.
  return isCutOff ? { kind: 'in_doubt', reason } : null;
}

function byAnswer<Answer>(expected: Expectation<Answer>, taken: UnnamedAnswer, body: string): Failure {
  const { asks, status, reason, likeness } = taken;
  // Taken for removed by mistake, the record would be created a second time when it comes back.
  if (asks === 'delete' && (status === 404 || status === 410))
    return {
      kind: 'refused',
      reason: reason.code === 'http_refused' ? { ...reason, code: 'removal_not_found' } : reason,
      likeness,
    };

  // A service that answers with another success, such as 204 to a change of a record that it does not have, is not down. A page
  // made for people may come from what stands in front of a service that is down.
  if (expected.successSetting && status >= 200 && status < 300 && (body === '' || isJsonObject(body)))
    return {
      kind: 'invalid',
      reason: {
        code: 'other_success_status',
        status,
        expected: expected.answers[0] ?? 200,
        setting: expected.successSetting,
      },
    };

  // 408 may follow a body that arrived; every other 4xx is the service's own "no".
  if (status >= 400 && status < 500 && status !== 408) return { kind: 'refused', reason, likeness };

  return { kind: 'in_doubt', reason };
}

/** Words of services, and of what stands before them, that shut us out for a while rather than for good. */
const soundsBlocked = /\bblock|\bbann?(ed|s)?\b|\brate|throttl|too.many|\bquota|suspen|\babus|temporar/i;

/** The JSON of an answer, with its amounts as they are written. */
export function parseAnswer({ amounts }: Pick<AnswerPlaces, 'amounts'>, body: string): unknown {
  return parseJson(body, (name) => amounts.includes(name));
}

function isJsonObject(body: string): boolean {
  const value = parseJson(body);
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
