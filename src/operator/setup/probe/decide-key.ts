import { valueAt } from '../../../model/record.js';
import { orderIdPlaces } from './decide-acknowledgement.js';
import { sayTheSame } from './decide-errors.js';
import {
  type Evidence,
  type Finding,
  holds,
  inShort,
  isDone,
  isRefused,
  jsonOf,
  type KeyPlace,
  type KeyTrial,
  type ProbeEvidence,
} from './evidence.js';

/** Tells if two answers acknowledge one record; null: nothing in them tells. Pure. */
export function isSameRecord(one: Evidence, other: Evidence): boolean | null {
  const [a, b] = [jsonOf(one), jsonOf(other)];
  const [place] = orderIdPlaces(a, []);
  if (place === undefined) return null;
  return valueAt(a, place) === valueAt(b, place);
}

/** The findings of a trial about its place. Pure. */
export function judgeTrial({
  first,
  again,
  otherKey,
}: KeyTrial): 'replayed' | 'refused' | 'ignored' | 'not taken' | 'unclear' {
  if (isRefused(first)) return 'not taken';
  if (!isDone(first) || !again) return 'unclear';
  if (isDone(again)) {
    const same = isSameRecord(first, again);
    if (same === null) return 'unclear';
    // Another key led to the same record: the service knows the order by its content.
    const isByContent = otherKey && isDone(otherKey) && isSameRecord(first, otherKey);
    return same && !isByContent ? 'replayed' : 'ignored';
  }
  if (isRefused(again)) return otherKey && isDone(otherKey) ? 'refused' : 'ignored';
  return 'unclear';
}

/** The trial in which the service recognised the key; absent: none. */
export function recognisedTrial({ trials }: ProbeEvidence): KeyTrial | undefined {
  return trials.find((trial) => ['replayed', 'refused'].includes(judgeTrial(trial)));
}

export function placeInWords(place: KeyPlace): string {
  if (place.in === 'body') return `the field ${place.name}`;
  return `the header ${place.name}${place.quoted ? ', in quotes' : ''}`;
}

function unknown(point: string, found: string, ask: string, evidence: readonly string[] = []): Finding {
  return { point, found, settings: {}, ask, evidence };
}

/** All that the key is about. */
export function decideKey(evidence: ProbeEvidence): Finding[] {
  const trial = recognisedTrial(evidence);
  if (!trial) {
    const tried = evidence.trials.map((one) => `${placeInWords(one.place)}: ${inShort(one.again ?? one.first)}`);
    return [
      unknown(
        'idempotency key',
        'No place of the key that was tried made the service recognise a repeated order.',
        'In which header or field does a create carry its idempotency key? Without one, a repeated create makes a second record.',
        tried,
      ),
    ];
  }
  return [
    place(trial),
    repeat(trial),
    ...quoting(evidence, trial),
    otherBody(evidence),
    atOnce(evidence),
    refusals(evidence),
    ...keptInRecord(evidence, trial),
    lifetime,
  ];
}

const lifetime: Finding = {
  point: 'lifetime of a key',
  found: 'No probe can tell how long the service remembers a key.',
  settings: {},
  ask: 'How long does the service remember an idempotency key? Set service.idempotency.lifetimeHours.',
  evidence: [],
};

function place({ place: found, first, again }: KeyTrial): Finding {
  const settings: Finding['settings'] =
    found.in === 'body'
      ? { 'service.idempotency.in': 'body', 'service.idempotency.field': found.name }
      : { 'service.idempotency.in': 'header', 'service.idempotency.header': found.name };
  return {
    point: 'idempotency key',
    found: `The key is recognised in ${placeInWords(found)}.`,
    settings,
    ask: null,
    evidence: [first, again as Evidence].map((one) => inShort(one)),
  };
}

function repeat(trial: KeyTrial): Finding {
  const { first, again, otherKey } = trial as KeyTrial & { again: Evidence };
  const isReplayed = judgeTrial(trial) === 'replayed';
  const status = again.answer?.status;
  const isOtherStatus = isReplayed && status !== first.answer?.status;
  return {
    point: 'same key and body twice',
    found: isReplayed
      ? `The first answer is repeated${isOtherStatus ? `, with status ${status}` : ''}.`
      : 'The repeat is refused; nothing is made twice. The answer does not name the record.',
    settings: {},
    ask: isOtherStatus
      ? `Can a repeated create be answered ${first.answer?.status}, as the first is? Waybill takes one status for a success.`
      : null,
    evidence: [again, ...(otherKey ? [otherKey] : [])].map((one) => inShort(one)),
  };
}

/** A record that shows a key after a change keeps it as a field, where the key of the change took the place of the create's. */
function keptInRecord({ changes }: ProbeEvidence, { place }: KeyTrial): Finding[] {
  if (place.in !== 'body') return [];
  const keyOf = ({ asked }: Evidence) => (JSON.parse(asked.body ?? '{}') as { [name: string]: unknown })[place.name];
  const shown = changes
    .flatMap(({ patch, put }) => [patch, ...(put ? [put] : [])])
    .find(({ done, read }) => read !== undefined && typeof keyOf(done) === 'string' && holds(read, keyOf(done)));
  if (!shown) return [];
  return [
    {
      point: 'key in the record',
      found: 'The service keeps the key as a field of the record, and a change writes its own key over it.',
      settings: { 'service.idempotency.keptInRecord': true },
      ask: null,
      evidence: [shown.done, shown.read as Evidence].map((one) => inShort(one)),
    },
  ];
}

/** Only a header has a form. */
function quoting({ otherForm }: ProbeEvidence, { place, first, again }: KeyTrial): Finding[] {
  if (place.in === 'body') return [];
  const base = { point: 'quotes around the key', settings: { 'service.idempotency.quoted': place.quoted }, ask: null };
  const evidence = otherForm ? [inShort(otherForm)] : [];
  if (place.quoted)
    return [{ ...base, found: 'The key has to stand in quotes; without them it is refused.', evidence }];
  // If repeats are refused, the other form is refused as one.
  const isRepeat = otherForm !== undefined && again !== undefined && isRefused(again) && sayTheSame(again, otherForm);
  const isSame = isRepeat || (otherForm && isSameRecord(first, otherForm));
  const meaning = () => {
    if (!otherForm) return 'The key is taken without quotes.';
    if (isSame) return 'The key is the same with quotes and without.';
    return isRefused(otherForm)
      ? 'The key has to stand without quotes; with them it is refused.'
      : 'The key stands without quotes; with them it is another key.';
  };
  return [{ ...base, found: meaning(), evidence }];
}

function otherBody({ otherBody: one, order }: ProbeEvidence): Finding {
  const point = 'same key, another body';
  const ask = 'What happens to a create whose key was used before with another body?';
  if (!one || !order) return unknown(point, 'It was not tried.', ask);
  const evidence = [inShort(one)];
  if (isRefused(one))
    return {
      point,
      found: 'The service notices it and refuses.',
      settings: { 'service.idempotency.comparesBodies': true },
      ask: null,
      evidence,
    };
  const same = isDone(one) ? isSameRecord(order, one) : null;
  if (same === true)
    return {
      point,
      found: 'The service does not notice it, and repeats its first answer.',
      settings: { 'service.idempotency.comparesBodies': false },
      ask: null,
      evidence,
    };
  return unknown(
    point,
    same === null ? 'The answer does not tell.' : 'The service made a second record.',
    ask,
    evidence,
  );
}

function atOnce({ atOnce: pairs, trials }: ProbeEvidence): Finding {
  const point = 'same key twice at once';
  const ask = 'What is a create answered while the first one with its key is still running?';
  if (pairs.length === 0) return unknown(point, 'It was not tried.', ask);
  const evidence = pairs
    .slice(-1)
    .flat()
    .map((one) => inShort(one));
  if (pairs.some(([one, other]) => isDone(one) && isDone(other) && isSameRecord(one, other) === false))
    return unknown(
      point,
      'The service made two records of one key.',
      'Two creates with one key at the same moment made two records. Can that be mended at the service? Until then set service.concurrency to 1.',
      evidence,
    );
  const refused = refusedAtOnce(pairs);
  if (refused) {
    const isAsAny = trials.some(({ again }) => again && isRefused(again) && sayTheSame(again, refused));
    const found = isAsAny ? 'The second is refused as any repeat is.' : 'The second is told that the first is running.';
    return { point, found, settings: {}, ask: null, evidence };
  }
  if (pairs.every((pair) => pair.every(isDone)))
    return unknown(
      point,
      'Both got the same answer: the first was done before the second was looked at, or the second waited.',
      ask,
      evidence,
    );
  return unknown(point, 'The answers do not tell.', ask, evidence);
}

function refusedAtOnce(pairs: ProbeEvidence['atOnce']): Evidence | undefined {
  const pair = pairs.find((one) => one.some(isDone) && one.some(isRefused));
  return pair?.find(isRefused);
}

/** True if a refused key is good for a corrected record. Pure. */
function refusals({ invalid, unknownCustomer }: ProbeEvidence): Finding {
  const point = 'refusals';
  const tries = [
    [invalid?.refused, invalid?.corrected],
    [unknownCustomer?.refused, unknownCustomer?.again],
  ] as const;
  const ended = tries.filter(
    (one): one is readonly [Evidence, Evidence] => one[0] !== undefined && one[1] !== undefined && isRefused(one[0]),
  );
  const evidence = ended.flatMap(([first, then]) => [inShort(first), inShort(then)]);
  const ask = 'May a create that was refused be corrected and sent again with its key?';
  if (ended.length === 0) return unknown(point, 'No refused create could be repeated.', ask);
  const isRemembered = ended.some(([, then]) => isRefused(then));
  if (!isRemembered && !ended.every(([, then]) => isDone(then)))
    return unknown(point, 'The answers do not tell.', ask, evidence);
  return {
    point,
    found: isRemembered
      ? 'They are remembered: a corrected record needs a new key.'
      : 'They are not remembered: a corrected record keeps its key.',
    settings: { 'service.idempotency.replaysRefusals': isRemembered },
    ask: null,
    evidence,
  };
}
