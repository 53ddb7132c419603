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
  const shape = (one: Evidence | undefined): string => {
    if (!one?.answer) return 'was not seen';
    const { code, message } = errorBody(one.answer.body, places ? { ...usualErrorPlaces, ...places } : undefined);
    const kind = typeof jsonOf(one) === 'object' ? 'JSON' : 'no JSON';
    return `is answered ${one.answer.status}, ${kind}, ${code ? `code ${code}` : 'no code'}: ${message || 'no words'}`;
  };
  const point = (name: string, one: Evidence | undefined, status: number, unknown: string): Finding => {
    const known = one?.answer?.status === status;
    return {
      point: name,
      found: one ? `It ${shape(one)}` : 'It was not asked for.',
      settings: {},
      ask: known ? null : unknown,
      evidence: one ? [inShort(one)] : [],
    };
  };
  const sameWords = missing?.answer && unknownAddress?.answer && shape(missing) === shape(unknownAddress);
  return [
    {
      point: 'shape of an error',
      found: places
        ? `The message stands at ${places.message[0]}${places.code[0] ? `, the code at ${places.code[0]}` : ', and there is no code'}.`
        : 'Errors are read without a setting.',
      settings: places
        ? {
            'service.errorBody.message': places.message,
            ...(places.code[0] ? { 'service.errorBody.code': places.code } : {}),
          }
        : {},
      ask: refusalsOf(evidence).length > 0 ? null : 'What does the body of an error look like?',
      evidence: refusalsOf(evidence)
        .slice(0, 2)
        .map((one) => inShort(one)),
    },
    point('400, wrong data', invalid?.refused, 400, 'What is an order with wrong data answered?'),
    point('401, wrong credential', wrongCredential, 401, 'What is a request with a wrong credential answered?'),
    point(
      '403, no permission',
      forbidden,
      403,
      'What is a request answered that this account may not make? (`--forbidden-path` asks one that you know.)',
    ),
    {
      ...point('404, no such record', missing, 404, 'What is a read of a record answered that does not exist?'),
      ...(sameWords ? { found: `It ${shape(missing)}. An unknown address is answered in the same words.` } : {}),
      evidence: [missing, unknownAddress].flatMap((one) => (one ? [inShort(one)] : [])),
    },
  ];
}

/** The form of "slow down". */
export function decideSlowDown({ throttled }: ProbeEvidence): Finding {
  const [one] = throttled;
  const point = 'Retry-After';
  if (!one?.answer)
    return {
      point,
      found: 'The service did not say "slow down".',
      settings: {},
      ask: 'How many requests in which time does it take, and does a 429 carry Retry-After? (`--burst` looks, and may get the account blocked for a while.)',
      evidence: [],
    };
  const header = one.answer.headers['retry-after'];
  return {
    point,
    found: `It ${formOfRetryAfter(header)}.`,
    settings: {},
    ask: null,
    evidence: [inShort(one, `Retry-After: ${header?.slice(0, 60) ?? '(none)'}`)],
  };
}

function formOfRetryAfter(header: string | undefined): string {
  if (header === undefined) return 'is absent';
  if (/^\d+$/.test(header.trim())) return 'is given in seconds';
  return retryAfterMs(header, 0) === null
    ? 'is neither seconds nor a date; Waybill waits as long as it thinks right'
    : 'is given as a date';
}
