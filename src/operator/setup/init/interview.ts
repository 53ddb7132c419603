/** What only a person, or a flag, can say. */
export interface Question {
  /** The flag that answers it, without its dashes. */
  name: string;
  text: string;
  choices?: readonly Choice[];
  /** An answer that is no guess: --yes takes it. */
  suggestion?: string | undefined;
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
    const given = this.given.get(question.name);
    if (given !== undefined) {
      const wrong = problem(given);
      if (wrong !== null) throw new InitError(`--${question.name} ${given}: ${wrong}`);
      return given;
    }
    if (this.ask === null) {
      if (question.suggestion === undefined) this.open.push(question);
      return question.suggestion ?? null;
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
  settle(name: string, value: string, reason: string): string {
    const given = this.given.get(name);
    if (given === undefined) this.settled.push({ name, value, reason });
    return given ?? value;
  }

  isGiven(name: string): string | undefined {
    return this.given.get(name);
  }
}
