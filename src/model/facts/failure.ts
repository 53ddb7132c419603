import { outside } from '../outside.js';
import type { Fact } from './fact.js';

/** An error that says as a fact what failed. */
export interface TellsFact {
  readonly fact: Fact;
}

/** Something that can't be done now, as a fact; nothing is wrong with the program. The command line tells it. */
export class Refused extends Error implements TellsFact {
  override readonly name: string = 'Refused';

  constructor(readonly fact: Fact) {
    super(fact.code);
  }
}

/** The fact to store of an error that was caught. An error without one is told by its message, as a text from outside. */
export function failureOf(error: unknown): Fact {
  const { fact, message } = error as Partial<TellsFact> & { message?: unknown };
  return fact ?? { code: 'failed', message: outside(String(message ?? error), 1_000) };
}
