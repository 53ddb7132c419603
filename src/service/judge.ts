import type { ServiceSettings } from '../config/sections/service.js';
import type { AnswerPattern } from '../config/sections/service-answers.js';
import type { Verdict } from '../model/verdict.js';
import { type AcknowledgementRequest, readAcknowledgement } from './acknowledgement.js';
import { endpointNames } from './endpoints.js';
import { errorBody } from './error-body.js';
import type { Exchange } from './exchange.js';
import { parseJson } from './parse-json.js';
import { retryAfterMs } from './rate-limit/retry-after.js';

/** Whether an answer is one of those that the profile names. Pure. */
export function matchesAnswer(
  patterns: readonly AnswerPattern[],
  status: number,
  code: string | null,
  body: string,
): boolean {
  return patterns.some(
    (pattern) =>
      pattern.status === status &&
      (pattern.code === undefined || pattern.code === code) &&
      // Services write in_progress, in-progress or "in progress"; `.` in the default patterns stands for any of them.
      (pattern.pattern === undefined || new RegExp(pattern.pattern, 'i').test(body.slice(0, 10_000))),
  );
}

/**
 * For how long the service has shut us out, in milliseconds; null where an answer says nothing of the kind. A lack of permission
 * has no end: a 403 that names one is a block, as is whatever the profile calls so. Pure.
 */
export function blockedMs(
  profile: Pick<ServiceSettings, 'answers' | 'blockedSeconds'>,
  answer: { status: number; headers: Readonly<Record<string, string>>; code: string | null; body: string },
  nowMs: number,
): number | null {
  const { status, headers, code, body } = answer;
  // "Now" and a date in the past name no time.
  const named = retryAfterMs(headers['retry-after'], nowMs) || null;
  if (matchesAnswer(profile.answers.blocked, status, code, body)) return named ?? profile.blockedSeconds * 1000;
  return status === 403 ? named : null;
}

export interface VerdictRequest extends AcknowledgementRequest {
  /** 0: no status is a success. */
  successStatus: number;
  /** Sum of qty × price of the record; null where there is none to check. */
  expectedTotal: bigint | null;
}

export type VerdictProfile = Pick<
  ServiceSettings,
  'answers' | 'blockedSeconds' | 'checkTotal' | 'acknowledgement' | 'errorBody' | 'idempotency'
>;

/**
 * What an exchange proves. Pure; one question a paragraph, in the order of the table in docs/architecture.md. For what is
 * not listed the answer is `in_doubt`: the same key and bytes again can do no harm.
 */
export function judge(profile: VerdictProfile, request: VerdictRequest, exchange: Exchange, nowMs: number): Verdict {
  if (exchange.kind === 'not_sent') return { kind: 'not_sent', reason: exchange.reason };
  if (exchange.kind === 'unreachable') return { kind: 'unavailable', reason: exchange.reason, tls: exchange.tls };
  if (exchange.kind === 'no_credential') return { kind: 'unauthorised', reason: exchange.reason };
  if (exchange.kind === 'timeout' || exchange.kind === 'broken') return { kind: 'in_doubt', reason: exchange.reason };

  const { status, headers } = exchange;
  const isCutOff = exchange.kind === 'cut_off';
  const body = isCutOff ? '' : exchange.body;

  if (status === request.successStatus && !isCutOff) {
    // 204 is complete without a body (RFC 9110, 15.3.5).
    const acknowledgement = readAcknowledgement(profile, request, status === 204 && body === '' ? '{}' : body);
    if (!acknowledgement.valid)
      return { kind: 'invalid', reason: `HTTP ${status}, but no valid acknowledgement: ${acknowledgement.reason}` };
    return {
      kind: 'delivered',
      serviceId: acknowledgement.serviceId,
      flag: totalFlag(profile, request.expectedTotal, acknowledgement.total),
      ...(acknowledgement.state === null ? {} : { state: acknowledgement.state }),
      ...(acknowledgement.total === null ? {} : { total: acknowledgement.total }),
    };
  }

  const error = errorBody(body, profile.errorBody);
  const words = isCutOff ? exchange.reason : error.message || 'no reason given';
  const reason = `HTTP ${status}${error.code ? ` ${error.code}` : ''}: ${words}`;
  const matches = (patterns: readonly AnswerPattern[]) => matchesAnswer(patterns, status, error.code, body);

  // What is not there needs no removal: it was removed by an attempt whose answer was lost, or by somebody else.
  const isRemoval = request.operation === 'delete';
  const namesCustomer = isRemoval && request.entity === 'order' && matches(profile.answers.unknownCustomer);
  if (isRemoval && !isCutOff && request.expectedId !== null && matches(profile.answers.gone) && !namesCustomer)
    return {
      kind: 'delivered',
      serviceId: request.expectedId,
      flag: `The service did not have it any more: ${reason}`,
    };

  // What the profile names goes before what a status usually means: some services say "in progress" with a 429 or a 503.
  if (!isCutOff) {
    if (matches(profile.answers.inProgress)) return { kind: 'busy', reason };
    if (profile.idempotency.comparesBodies && matches(profile.answers.keyReused))
      return { kind: 'conflict', reason, what: 'key_reused' };
    if (matches(profile.answers.alreadyExists)) return { kind: 'conflict', reason, what: 'already_exists' };
    if (request.entity === 'order' && matches(profile.answers.unknownCustomer))
      return { kind: 'unknown_customer', reason };
  }

  const blockMs = blockedMs(profile, { status, headers, code: error.code, body }, nowMs);
  if (blockMs !== null)
    return {
      kind: 'throttled',
      reason,
      retryAfterMs: blockMs,
      ...(status >= 400 && status < 500 ? {} : { mayHaveTakenEffect: true as const }),
    };

  // A 429 is decided before the idempotency layer of a service: nothing took effect.
  if (status === 429) return { kind: 'throttled', reason, retryAfterMs: retryAfterMs(headers['retry-after'], nowMs) };
  if (status === 503 && headers['retry-after'] !== undefined)
    return {
      kind: 'throttled',
      reason,
      retryAfterMs: retryAfterMs(headers['retry-after'], nowMs),
      mayHaveTakenEffect: true,
    };

  if (status === 401) return { kind: 'unauthorised', reason };
  if (status === 403 || status === 407) return { kind: 'misconfigured', reason };
  if (status >= 300 && status < 400) return { kind: 'misconfigured', reason, mayHaveTakenEffect: true };

  // Without its body a success does not say what it acknowledged, nor a 409 whether something exists.
  if (isCutOff) return { kind: 'in_doubt', reason };

  // Taken for removed by mistake, the record would be created a second time when it comes back.
  if (isRemoval && (status === 404 || status === 410))
    return {
      kind: 'refused',
      reason: `${reason}. This does not prove that the record is gone: look for it at the service, and check the path of the removal. If this is what it says of a missing record, name it in service.answers.gone.`,
    };

  // Whoever makes records and says so with another status is no outage: the setting is wrong. A page made for people, or
  // nothing, may come from whatever stands in front of a service that is down.
  if (request.successStatus > 0 && status >= 200 && status < 300 && isJsonObject(body)) {
    const setting = `service.endpoints.${endpointNames[request.entity][request.operation]}.successStatus`;
    return { kind: 'invalid', reason: `HTTP ${status}, but ${setting} is ${request.successStatus}` };
  }

  // 408 may follow a body that arrived; every other 4xx is the service's own "no".
  if (status >= 400 && status < 500 && status !== 408) return { kind: 'refused', reason };

  return { kind: 'in_doubt', reason };
}

function isJsonObject(body: string): boolean {
  const value = parseJson(body);
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function totalFlag(profile: VerdictProfile, expected: bigint | null, acknowledged: number | null): string | null {
  if (profile.checkTotal === 'off' || expected === null || acknowledged === null) return null;
  if (BigInt(acknowledged) === expected) return null;
  return `The service acknowledged a total of ${acknowledged}; the lines add up to ${expected}.`;
}
