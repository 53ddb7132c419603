import type { AnswerPattern } from '../../../config/sections/service-answers.js';
import type { ProbeFact, SpecialAnswer } from '../../../model/facts/probe.js';
import type { JsonValue } from '../../../model/record.js';
import type { ErrorPlaces } from '../../../model/verdict.js';
import { errorBody } from '../../../service/answer-words.js';
import { matchesAnswer } from '../../../service/judge.js';
import { errorPlacesOf, meaningsOf } from './decide-errors.js';
import { type Evidence, type Finding, inShort, type ProbeEvidence } from './evidence.js';

/** A shorter word of ours turns up in other words by chance. */
const leastWord = 3;
const leastTelling = 5;
/** Enough to tell an answer by, and too little to keep a regular expression busy. */
const mostTelling = 60;

/** The longest part of a message that does not hold a word of ours, as a pattern that finds it in any writing of the body. */
function patternOf(message: string, own: readonly string[]): string | null {
  const words = own.filter((word) => word.length >= leastWord);
  const parts = words.reduce((some, word) => some.flatMap((one) => one.split(word)), [message]);
  const [longest = ''] = parts
    .flatMap((part) => part.split(/\d+|…/))
    .map((part) => part.replace(/^[^\p{L}]+|[^\p{L}]+$/gu, ''))
    .sort((a, b) => b.length - a.length);
  if (longest.length < leastTelling) return null;
  const cut = longest.length <= mostTelling ? longest : longest.slice(0, mostTelling).replace(/[^\p{L}]+\p{L}*$/u, '');
  // A gap may be written in another way in the body: as an escape of JSON or HTML.
  return cut.replace(/[^\p{L}]+/gu, (gap) => (gap === ' ' ? '.' : '.{1,8}'));
}

/**
 * The mark of an answer among others of the same status: its code, else words of its message. Pure.
 * @param own words that are ours, and in the next answer others
 * @returns null where nothing tells it apart: a status alone may mean anything
 */
export function recognise(
  one: Evidence,
  others: readonly Evidence[],
  places: ErrorPlaces,
  own: readonly string[],
): AnswerPattern | null {
  if (one.answer === null) return null;
  const { status, body } = one.answer;
  const { code, message } = errorBody(body, places);
  const pattern = patternOf(message, own);
  const possible: AnswerPattern[] = [
    ...(code === null ? [] : [{ status, code }]),
    ...(pattern === null ? [] : [{ status, pattern }]),
  ];
  const fits = (candidate: AnswerPattern, { answer }: Evidence) =>
    answer !== null && matchesAnswer([candidate], { status: answer.status, ...errorBody(answer.body, places) });
  return possible.find((candidate) => fits(candidate, one) && !others.some((other) => fits(candidate, other))) ?? null;
}

/** The answers that the settings name by their words. */
const named: readonly SpecialAnswer[] = ['inProgress', 'keyReused', 'alreadyExists', 'unknownCustomer', 'gone'];

/** The mark of each of them. If it was not seen, or looks like another, a person has to ask. */
export function decideSpecialAnswers(evidence: ProbeEvidence): Finding[] {
  const places = errorPlacesOf(evidence);
  const meanings = meaningsOf(evidence);
  return named.map((name): Finding => {
    const seen = meanings[name] ?? [];
    const others = Object.entries(meanings).flatMap(([other, some]) => (other === name ? [] : some));
    const found = seen.map((one) => recognise(one, others, places, evidence.own));
    const patterns = found.filter((one) => one !== null);
    const distinct = [...new Map(patterns.map((one) => [JSON.stringify(one), one])).values()];
    const isKnown = seen.length > 0 && patterns.length === seen.length;
    const told: ProbeFact = isKnown ? { code: 'probe_told_apart' } : { code: 'probe_not_told_apart' };
    return {
      point: { code: 'probe_of_answer', answer: name },
      found: seen.length === 0 ? { code: 'probe_not_seen' } : told,
      settings: distinct.length > 0 ? { [`service.answers.${name}`]: distinct as unknown as JsonValue } : {},
      ask: isKnown ? null : { code: 'probe_ask_answer', answer: name },
      evidence: seen.slice(0, 2).map((one) => inShort(one)),
    };
  });
}
