/** The questions that only a person, or a flag, can answer. */
export interface Question {
  /** The flag that answers it, without its dashes. */
  name: string;
  /** The role of the column that is asked for, where the flag is --column. */
  role?: string;
  text: string;
  choices?: readonly Choice[];
  /** An answer that is no guess: --yes takes it. */
  suggestion?: string | undefined;
  /** The answer that --yes assumes: then the report names it. */
  reason?: string;
  /** Offered on the terminal, where a person confirms it with Enter. --yes never takes it. */
  likely?: string | undefined;
}

export interface Choice {
  value: string;
  note?: string;
}

/** Something that was given does not hold, or `init` can't go on; the message says what to do. */
export class InitError extends Error {
  override readonly name = 'InitError';
}

/** Answers from flags, from a person, or else from the suggestions. Open questions are kept, so that all are said at once. */
export class Interview {
  readonly open: Question[] = [];
  /** Answers that came without asking anybody, for the report. */
  readonly settled: { name: string; value: string; reason: string }[] = [];

  private readonly given: Map<string, string>;
  private readonly answered = new Map<string, string>();
  private readonly again = new Map<string, string>();

  /** @param ask null: nobody is there to ask (--yes) */
  constructor(
    given: ReadonlyMap<string, string>,
    private readonly ask: ((question: Question) => Promise<string>) | null,
  ) {
    this.given = new Map(given);
  }

  /** Asks these again, also what a flag said: the answers until now did not hold together, and are suggestions now. */
  askAgain(...names: readonly string[]): void {
    for (const name of names) {
      const last = this.given.get(name) ?? this.answered.get(name);
      if (last !== undefined) this.again.set(name, last);
      this.given.delete(name);
    }
  }

  /** The answer, or null where it stays open. @param problem says what is wrong with an answer */
  async answer(question: Question, problem: (text: string) => string | null = () => null): Promise<string | null> {
    const given = this.checkedFlag(question.name, problem);
    if (given !== undefined) return given;
    if (this.ask === null) {
      const { name, suggestion, reason } = question;
      if (suggestion === undefined) this.open.push(question);
      else if (reason !== undefined) this.settled.push({ name, value: suggestion, reason });
      return suggestion ?? null;
    }
    const suggestion = this.again.get(question.name) ?? question.suggestion ?? question.likely;
    for (let asked = { ...question, suggestion }; ; ) {
      const text = await this.ask(asked);
      const answer = text === '' ? suggestion : text;
      const wrong = answer === undefined ? 'an answer is needed' : problem(answer);
      if (wrong === null && answer !== undefined) {
        this.answered.set(question.name, answer);
        return answer;
      }
      asked = { ...question, suggestion, text: `${wrong}. ${question.text}` };
    }
  }

  /** The answer of the data itself, unless a flag says otherwise. */
  settle(name: string, value: string, reason: string, problem: (text: string) => string | null = () => null): string {
    const given = this.checkedFlag(name, problem);
    if (given === undefined) this.settled.push({ name, value, reason });
    return given ?? value;
  }

  private checkedFlag(name: string, problem: (text: string) => string | null): string | undefined {
    const given = this.given.get(name);
    const wrong = given === undefined ? null : problem(given);
    if (wrong !== null) throw new InitError(`--${name} ${given}: ${wrong}`);
    return given;
  }

  isGiven(name: string): string | undefined {
    return this.given.get(name);
  }
}
