import type { PartFact } from '../model/facts/fact-of.js';
import { type Outside, openOutside } from '../model/outside.js';

/** Formats what depends on the reader. */
export interface Reader {
  time(ms: number): string;
}

/** The tools for making sentences. */
export interface Say extends Reader {
  /** Tells a fact that is part of another one: the failure behind an alert. */
  fact(fact: PartFact): string;
  /** Tells what a person has to do about such a part; null: nothing. */
  remedy(fact: PartFact): string | null;
}

/** A fact in words. `remedy`: what a person has to do, null where nothing; whole sentences, with commands that work. */
export interface Sentence {
  text: string;
  remedy: string | null;
}

/** Words for every code of a map of facts. A plain string is a sentence without a remedy. */
export type WordsFor<Codes> = {
  readonly [Code in keyof Codes & string]: (
    fact: { readonly code: Code } & Readonly<Codes[Code]>,
    say: Say,
  ) => string | Sentence;
};

/** A text from outside in quotes, as the reader may search for it. */
export function quoted(text: Outside): string {
  return `"${openOutside(text)}"`;
}
