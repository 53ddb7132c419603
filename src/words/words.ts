import type { Fact } from '../model/facts/fact.js';
import type { PartFact } from '../model/facts/fact-of.js';
import { isOutside, openOutside } from '../model/outside.js';
import { withoutNumbers } from '../model/without-numbers.js';
import { en } from './en.js';
import type { Reader, Say, Sentence } from './sentence.js';

export type { Reader } from './sentence.js';

/** Says times in UTC, where no person's time zone is known. */
const inUtc: Reader = { time: (ms) => new Date(ms).toISOString() };

/**
 * The sentence for a fact, in English.
 * @param reader formats times
 */
export function tell(fact: Fact, reader: Reader = inUtc): string {
  return sentenceOf(fact, reader).text;
}

/** The sentence with what a person has to do, as an alert says it. */
export function tellWhole(fact: Fact, reader: Reader = inUtc): string {
  const { text, remedy } = sentenceOf(fact, reader);
  if (remedy === null) return text;
  return `${text}${/[.!?…]$/.test(text) ? '' : '.'} ${remedy}`;
}

/** The sentence with `#` for every number and key: messages whose reasons differ in them alone have one cause. */
export function tellCause(fact: Fact): string {
  return withoutNumbers(tell(fact));
}

/** A group of messages for people: one that was made by the reason is called by its cause. */
export function tellGroup<G extends { group: string; reason: Fact | null }>({ reason, ...one }: G) {
  return { ...one, group: reason === null ? one.group : tellCause(reason) };
}

/** A filter for facts whose sentence contains a text, in any case: people search for what they have read. */
export function says(text: string): (fact: Fact) => boolean {
  return (fact) => tell(fact).toLowerCase().includes(text.toLowerCase());
}

/** The step for a person about a fact; null if nothing has to be done. */
export function remedyFor(fact: Fact, reader: Reader = inUtc): string | null {
  return sentenceOf(fact, reader).remedy;
}

/** The data of a fact for `--json`: texts from outside as plain texts, facts in it in words. */
export function plainData({ code: _, ...data }: Fact, reader: Reader = inUtc): { [name: string]: unknown } {
  return factsInWords(data, reader) as { [name: string]: unknown };
}

/**
 * A copy for `--json`: each fact at a name `x` becomes its sentence there, with its code in `xCode`, its data in `xData`, and
 * what a person has to do in `xRemedy`, where there is something.
 * @param reader formats times in sentences
 */
export function factsInWords(value: unknown, reader: Reader = inUtc): unknown {
  if (Array.isArray(value))
    return value.map((one) => (isFact(one) ? spelledOut('reason', one, reader) : factsInWords(one, reader)));
  if (isOutside(value)) return openOutside(value);
  if (Object.prototype.toString.call(value) !== '[object Object]') return value;
  return Object.fromEntries(
    Object.entries(value as object).flatMap(([name, member]) =>
      isFact(member) ? Object.entries(spelledOut(name, member, reader)) : [[name, factsInWords(member, reader)]],
    ),
  );
}

/** True if a value is a fact of this version, as a column or a line of the audit has it. */
export function isFact(value: unknown): value is Fact {
  return typeof value === 'object' && value !== null && Object.hasOwn(en, (value as { code?: PropertyKey }).code ?? '');
}

function spelledOut(name: string, fact: Fact, reader: Reader): { [name: string]: unknown } {
  const { text, remedy } = sentenceOf(fact, reader);
  return {
    [name]: text,
    [`${name}Code`]: fact.code,
    [`${name}Data`]: plainData(fact, reader),
    ...(remedy === null ? {} : { [`${name}Remedy`]: remedy }),
  };
}

function sentenceOf(fact: Fact, reader: Reader): Sentence {
  if (!Object.hasOwn(en, fact.code)) return { text: unknownCode(fact), remedy: null };
  const words = en[fact.code] as (fact: Fact, say: Say) => string | Sentence;
  let ofPart: string | null = null;
  const tellPart = (part: PartFact) => {
    const { text, remedy } = sentenceOf(part as Fact, reader);
    ofPart ??= remedy;
    return text;
  };
  const say = {
    time: (ms: number) => reader.time(ms),
    fact: tellPart,
    remedy: (part: PartFact) => remedyFor(part as Fact, reader),
  };
  let said: string | Sentence;
  try {
    said = words(fact, say);
  } catch {
    // Its data is not what this version writes under the code. One damaged fact must not stop a list of all.
    return { text: unknownCode(fact), remedy: null };
  }
  // The remedy of the inner failure is the remedy of the fact.
  return typeof said === 'string' ? { text: said, remedy: ofPart } : said;
}

/** A code of a later version of Waybill, which has left it in the store. */
function unknownCode(fact: Fact): string {
  const data = Object.entries(plainData(fact)).map(([name, value]) => ` ${name}=${JSON.stringify(value)}`);
  return `${fact.code}${data.join('')}`;
}

/** Shown in `--json` and `--csv` only. */
const hidden = new Set(['idempotencyKey', 'bodyHash', 'excerptHash', 'startedAt', 'nextAttemptAt']);

/** The details of an audit line in few words: those that are there, without hashes and keys. Facts become sentences. */
export function detailsInWords(detail: { readonly [name: string]: unknown }, reader?: Reader): string {
  const inWords = (value: unknown) => {
    if (isFact(value)) return tell(value, reader);
    return typeof value === 'object' ? JSON.stringify(value) : String(value);
  };
  return Object.entries(detail)
    .filter(([name, value]) => value !== null && !hidden.has(name))
    .map(([name, value]) => `${name}=${inWords(value)}`)
    .join(' ');
}
