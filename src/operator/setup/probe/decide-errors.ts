import { isDeepStrictEqual } from 'node:util';
import type { ProbeFact } from '../../../model/facts/probe.js';
import { outside } from '../../../model/outside.js';
import { valueAt } from '../../../model/record.js';
import { type ErrorPlaces, usualErrorPlaces } from '../../../model/verdict.js';
import { errorBody } from '../../../service/answer-words.js';
import { retryAfterMs } from '../../../service/rate-limit/rate-limit-headers.js';
import {
  type Evidence,
  type Finding,
  hasUsualMessage,
  inShort,
  isDone,
  isRefused,
  jsonOf,
  lastName,
  leavesOf,
  type ProbeEvidence,
} from './evidence.js';

/** Every refusal, by what it means. */
export function meaningsOf(evidence: ProbeEvidence): Record<string, Evidence[]> {
  const { trials, atOnce, removals, invalid, unknownCustomer, ...more } = evidence;
  const repeated = trials.filter(({ first }) => isDone(first)).map(({ again }) => again);
  const waiting = atOnce.filter((pair) => pair.some(isDone)).flat();
  const isRepeat = (one: Evidence) => repeated.some((other) => other && sayTheSame(one, other));
  const seen: Record<string, (Evidence | undefined)[]> = {
    noKey: trials.map(({ first }) => first),
    credential: [more.wrongCredential],
    forbidden: [more.forbidden],
    unknownAddress: [more.unknownAddress],
    invalid: [invalid?.refused],
    inProgress: waiting.filter((one) => !isRepeat(one)),
    keyReused: [more.otherBody],
    alreadyExists: [more.exists, ...repeated],
    unknownCustomer: [unknownCustomer?.refused],
    gone: [...removals.map(({ again }) => again), more.missing],
  };
  const refused = (one: Evidence | undefined): one is Evidence => one !== undefined && isRefused(one);
  return Object.fromEntries(Object.entries(seen).map(([name, some]) => [name, some.filter(refused)]));
}

/** True if two refusals differ in nothing but their subject. */
export function sayTheSame({ answer: one }: Evidence, { answer: other }: Evidence): boolean {
  if (one === null || other?.status !== one.status) return false;
  const [a, b] = [errorBody(one.body), errorBody(other.body)];
  return a.code === null ? a.message === b.message : a.code === b.code;
}

const refusalsOf = (evidence: ProbeEvidence) => Object.values(meaningsOf(evidence)).flat();

/** The places of code and message in the service's errors. Pure. @returns null where the usual places do */
export function unusualErrorPlaces(bodies: readonly unknown[]): { code: string[]; message: string[] } | null {
  const objects = bodies.filter((one) => typeof one === 'object' && one !== null);
  if (objects.length === 0 || objects.every(hasUsualMessage)) return null;
  const texts = (place: string) => objects.map((one) => valueAt(one, place));
  const everywhere = leavesOf(objects[0])
    .map(({ place }) => ({ place, texts: texts(place) }))
    .filter(({ texts }) => texts.every((one) => typeof one === 'string' || typeof one === 'number'));
  const longest = (one: { texts: unknown[] }) => one.texts.join('').length;
  const [message] = everywhere
    .filter(({ texts }) => texts.every((one) => /\s/.test(String(one))))
    .sort((a, b) => longest(b) - longest(a));
  if (!message) return null;
  const codes = everywhere.filter(
    ({ place, texts }) => place !== message.place && texts.every((one) => /^[\w.-]{1,64}$/.test(String(one))),
  );
  // A word that differs from refusal to refusal tells them apart; a status, or the number of the request, does not.
  const namesCode = (place: string) => /code|no$|num|type|key|kind|reason|err/i.test(lastName(place));
  const [code] = codes.filter(
    ({ place, texts }) => namesCode(place) && (objects.length === 1 || new Set(texts).size > 1),
  );
  return { code: code ? [code.place] : [], message: [message.place] };
}

export function errorPlacesOf(evidence: ProbeEvidence): ErrorPlaces {
  const found = unusualErrorPlaces(refusalsOf(evidence).map(jsonOf));
  return found ? { ...usualErrorPlaces, ...found } : usualErrorPlaces;
}

/** The form of the service's refusals: 400, 401, 403 and 404. */
export function decideErrors(evidence: ProbeEvidence): Finding[] {
  const { invalid, wrongCredential, forbidden, missing, unknownAddress } = evidence;
  const places = unusualErrorPlaces(refusalsOf(evidence).map(jsonOf));
  const shape = (one: Evidence, isAsUnknown = false): ProbeFact => {
    if (!one.answer) return { code: 'probe_not_seen' };
    const { code, message } = errorBody(one.answer.body, places ? { ...usualErrorPlaces, ...places } : undefined);
    return {
      code: 'probe_error_shape',
      status: one.answer.status,
      isJson: typeof jsonOf(one) === 'object',
      errorCode: code ? outside(code) : null,
      message: message ? outside(message) : null,
      isAsUnknown,
    };
  };
  const point = (name: ProbeFact, one: Evidence | undefined, status: number, unknown: ProbeFact): Finding => {
    const known = one?.answer?.status === status;
    return {
      point: name,
      found: one ? shape(one) : { code: 'probe_not_asked_for' },
      settings: {},
      ask: known ? null : unknown,
      evidence: one ? [inShort(one)] : [],
    };
  };
  const isAsUnknown =
    missing?.answer && unknownAddress?.answer && isDeepStrictEqual(shape(missing), shape(unknownAddress));
  return [
    {
      point: { code: 'probe_of_errors' },
      found: places
        ? { code: 'probe_error_places', message: places.message[0] ?? '', errorCode: places.code[0] ?? null }
        : { code: 'probe_errors_usual' },
      settings: places
        ? {
            'service.errorBody.message': places.message,
            ...(places.code[0] ? { 'service.errorBody.code': places.code } : {}),
          }
        : {},
      ask: refusalsOf(evidence).length > 0 ? null : { code: 'probe_ask_error_body' },
      evidence: refusalsOf(evidence)
        .slice(0, 2)
        .map((one) => inShort(one)),
    },
    point({ code: 'probe_of_400' }, invalid?.refused, 400, { code: 'probe_ask_400' }),
    point({ code: 'probe_of_401' }, wrongCredential, 401, { code: 'probe_ask_401' }),
    point({ code: 'probe_of_403' }, forbidden, 403, { code: 'probe_ask_403' }),
    {
      ...point({ code: 'probe_of_404' }, missing, 404, { code: 'probe_ask_404' }),
      ...(isAsUnknown ? { found: shape(missing, true) } : {}),
      evidence: [missing, unknownAddress].flatMap((one) => (one ? [inShort(one)] : [])),
    },
  ];
}

/** The form of "slow down". */
export function decideSlowDown({ throttled }: ProbeEvidence): Finding {
  const [one] = throttled;
  const point = { code: 'probe_of_retry_after' } as const;
  if (!one?.answer)
    return {
      point,
      found: { code: 'probe_never_slowed_down' },
      settings: {},
      ask: { code: 'probe_ask_limit' },
      evidence: [],
    };
  const header = one.answer.headers['retry-after'];
  return {
    point,
    found: { code: formOfRetryAfter(header) },
    settings: {},
    ask: null,
    evidence: [
      inShort(one, { code: 'probe_retry_after_shown', value: header === undefined ? null : outside(header, 60) }),
    ],
  };
}

function formOfRetryAfter(header: string | undefined) {
  if (header === undefined) return 'probe_retry_after_absent';
  if (/^\d+$/.test(header.trim())) return 'probe_retry_after_seconds';
  return retryAfterMs(header, 0) === null ? 'probe_retry_after_unclear' : 'probe_retry_after_date';
}
