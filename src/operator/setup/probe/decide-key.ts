import type { ProbeFact } from '../../../model/facts/probe.js';
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

function unknown(point: ProbeFact, found: ProbeFact, ask: ProbeFact, evidence: readonly ProbeFact[] = []): Finding {
  return { point, found, settings: {}, ask, evidence };
}

/** All that the key is about. */
export function decideKey(evidence: ProbeEvidence): Finding[] {
  const trial = recognisedTrial(evidence);
  if (!trial) {
    const tried = evidence.trials.map(({ place: at, first, again }): ProbeFact => {
      return { code: 'probe_key_tried', place: at, exchange: inShort(again ?? first) };
    });
    return [
      unknown({ code: 'probe_of_key' }, { code: 'probe_key_not_recognised' }, { code: 'probe_ask_key_place' }, tried),
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
  point: { code: 'probe_of_lifetime' },
  found: { code: 'probe_lifetime_hidden' },
  settings: {},
  ask: { code: 'probe_ask_lifetime' },
  evidence: [],
};

function place({ place: found, first, again }: KeyTrial): Finding {
  const settings: Finding['settings'] =
    found.in === 'body'
      ? { 'service.idempotency.in': 'body', 'service.idempotency.field': found.name }
      : { 'service.idempotency.in': 'header', 'service.idempotency.header': found.name };
  return {
    point: { code: 'probe_of_key' },
    found: { code: 'probe_key_recognised', place: found },
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
    point: { code: 'probe_of_repeat' },
    found: isReplayed
      ? { code: 'probe_repeat_answered', status: isOtherStatus ? (status ?? null) : null }
      : { code: 'probe_repeat_refused' },
    settings: {},
    ask: isOtherStatus ? { code: 'probe_ask_repeat_status', status: first.answer?.status ?? 0 } : null,
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
      point: { code: 'probe_of_key_in_record' },
      found: { code: 'probe_key_kept_in_record' },
      settings: { 'service.idempotency.keptInRecord': true },
      ask: null,
      evidence: [shown.done, shown.read as Evidence].map((one) => inShort(one)),
    },
  ];
}

/** Only a header has a form. */
function quoting({ otherForm }: ProbeEvidence, { place, first, again }: KeyTrial): Finding[] {
  if (place.in === 'body') return [];
  const base = {
    point: { code: 'probe_of_quotes' } as const,
    settings: { 'service.idempotency.quoted': place.quoted },
    ask: null,
  };
  const evidence = otherForm ? [inShort(otherForm)] : [];
  if (place.quoted) return [{ ...base, found: { code: 'probe_key_quoted' }, evidence }];
  // If repeats are refused, the other form is refused as one.
  const isRepeat = otherForm !== undefined && again !== undefined && isRefused(again) && sayTheSame(again, otherForm);
  const isSame = isRepeat || (otherForm && isSameRecord(first, otherForm));
  const meaning = (): ProbeFact => {
    if (!otherForm) return { code: 'probe_key_bare' };
    if (isSame) return { code: 'probe_quotes_ignored' };
    return isRefused(otherForm) ? { code: 'probe_quotes_refused' } : { code: 'probe_quotes_other_key' };
  };
  return [{ ...base, found: meaning(), evidence }];
}

function otherBody({ otherBody: one, order }: ProbeEvidence): Finding {
  const point = { code: 'probe_of_other_body' } as const;
  const ask = { code: 'probe_ask_other_body' } as const;
  if (!one || !order) return unknown(point, { code: 'probe_not_tried' }, ask);
  const evidence = [inShort(one)];
  if (isRefused(one))
    return {
      point,
      found: { code: 'probe_other_body_refused' },
      settings: { 'service.idempotency.comparesBodies': true },
      ask: null,
      evidence,
    };
  const same = isDone(one) ? isSameRecord(order, one) : null;
  if (same === true)
    return {
      point,
      found: { code: 'probe_other_body_unnoticed' },
      settings: { 'service.idempotency.comparesBodies': false },
      ask: null,
      evidence,
    };
  return unknown(
    point,
    same === null ? { code: 'probe_answer_tells_nothing' } : { code: 'probe_second_record' },
    ask,
    evidence,
  );
}

function atOnce({ atOnce: pairs, trials }: ProbeEvidence): Finding {
  const point = { code: 'probe_of_two_at_once' } as const;
  const ask = { code: 'probe_ask_at_once' } as const;
  if (pairs.length === 0) return unknown(point, { code: 'probe_not_tried' }, ask);
  const evidence = pairs
    .slice(-1)
    .flat()
    .map((one) => inShort(one));
  if (pairs.some(([one, other]) => isDone(one) && isDone(other) && isSameRecord(one, other) === false))
    return unknown(point, { code: 'probe_two_records' }, { code: 'probe_ask_two_records' }, evidence);
  const refused = refusedAtOnce(pairs);
  if (refused) {
    const isAsAny = trials.some(({ again }) => again && isRefused(again) && sayTheSame(again, refused));
    const found: ProbeFact = isAsAny ? { code: 'probe_second_refused' } : { code: 'probe_second_waits' };
    return { point, found, settings: {}, ask: null, evidence };
  }
  if (pairs.every((pair) => pair.every(isDone))) return unknown(point, { code: 'probe_both_the_same' }, ask, evidence);
  return unknown(point, { code: 'probe_answers_tell_nothing' }, ask, evidence);
}

function refusedAtOnce(pairs: ProbeEvidence['atOnce']): Evidence | undefined {
  const pair = pairs.find((one) => one.some(isDone) && one.some(isRefused));
  return pair?.find(isRefused);
}

/** True if a refused key is good for a corrected record. Pure. */
function refusals({ invalid, unknownCustomer }: ProbeEvidence): Finding {
  const point = { code: 'probe_of_refusals' } as const;
  const tries = [
    [invalid?.refused, invalid?.corrected],
    [unknownCustomer?.refused, unknownCustomer?.again],
  ] as const;
  const ended = tries.filter(
    (one): one is readonly [Evidence, Evidence] => one[0] !== undefined && one[1] !== undefined && isRefused(one[0]),
  );
  const evidence = ended.flatMap(([first, then]) => [inShort(first), inShort(then)]);
  const ask = { code: 'probe_ask_refusals' } as const;
  if (ended.length === 0) return unknown(point, { code: 'probe_no_refusal_repeated' }, ask);
  const isRemembered = ended.some(([, then]) => isRefused(then));
  if (!isRemembered && !ended.every(([, then]) => isDone(then)))
    return unknown(point, { code: 'probe_answers_tell_nothing' }, ask, evidence);
  return {
    point,
    found: isRemembered ? { code: 'probe_refusals_remembered' } : { code: 'probe_refusals_forgotten' },
    settings: { 'service.idempotency.replaysRefusals': isRemembered },
    ask: null,
    evidence,
  };
}
