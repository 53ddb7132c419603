/** What only a person, or a flag, can say. */
export interface Question {
  /** The flag that answers it, without its dashes. */
  name: string;
  text: string;
  choices?: readonly Choice[];
  /** An answer that is no guess: --yes takes it. */
  suggestion?: string | undefined;
  /** What --yes takes it for: then the report names it. */
  reason?: string;
}

export interface Choice {
  value: string;
  note?: string;
}

/** Something that was given does not hold, or `init` can't go on; the message says what to do. */
export class InitError extends Error {
  override readonly name = 'InitError';
}

/** Answers from flags, from a person, or else from the suggestions. What stays open is kept, so that all is said at once. */
export class Interview {
  readonly open: Question[] = [];
  /** What was answered without asking anybody, for the report. */
  readonly settled: { name: string; value: string; reason: string }[] = [];

  /** @param ask null: nobody is there to ask (--yes) */
  constructor(
    private readonly given: ReadonlyMap<string, string>,
    private readonly ask: ((question: Question) => Promise<string>) | null,
  ) {}

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
    for (let asked = question; ; ) {
      const text = await this.ask(asked);
      const answer = text === '' ? question.suggestion : text;
      const wrong = answer === undefined ? 'an answer is needed' : problem(answer);
      if (wrong === null && answer !== undefined) return answer;
      asked = { ...question, text: `${wrong}. ${question.text}` };
    }
  }

  /** What the data itself says, unless a flag says otherwise. */
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
