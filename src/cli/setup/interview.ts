/** A question about the place of the ERP or the service, which only a person, or a flag, can answer. */
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
      const { suggestion } = question;
      if (suggestion === undefined) this.open.push(question);
      return suggestion ?? null;
    }
    const suggestion = this.again.get(question.name) ?? question.suggestion;
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

  /** Tells an answer that came without asking anybody. */
  settle(name: string, value: string, reason: string): void {
    this.settled.push({ name, value, reason });
  }

  private checkedFlag(name: string, problem: (text: string) => string | null): string | undefined {
    const given = this.given.get(name);
    const wrong = given === undefined ? null : problem(given);
    if (wrong !== null) throw new InitError(`--${name} ${given}: ${wrong}`);
    return given;
  }

  /** The answers until now, for a draft. */
  get answers(): Readonly<Record<string, string>> {
    return Object.fromEntries([...this.given, ...this.answered]);
  }
}
