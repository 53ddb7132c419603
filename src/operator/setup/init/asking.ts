import type { ErpSnapshot } from '../../../db/erp-database.js';
import type { SetupAnswers, SetupNote, SetupProblem, SetupQuestion } from '../../../model/setup-questions.js';

/** An answer that can't be taken. */
export interface WrongAnswer {
  question: SetupQuestion;
  answer: string;
  problem: SetupProblem;
}

/** A value of an answer, or the problem with it. Undefined: what decides is not read yet. */
export type Parsed<T> = { value: T } | { problem: SetupProblem } | undefined;

export const taken = <T>(value: T): Parsed<T> => ({ value });
export const refused = (problem: SetupProblem): Parsed<never> => ({ problem });

/** The question that an answer belongs to: the role of a column, else the flag. */
export const answerId = ({ flag, role }: Pick<SetupQuestion, 'flag' | 'role'>): string => role ?? flag;

/** Collects the open questions, the wrong answers and what there is to tell. A pure function of the answers fills it. */
export class Asking {
  readonly open: SetupQuestion[] = [];
  readonly wrong: WrongAnswer[] = [];
  readonly notes: SetupNote[] = [];
  /** Answers that a question asked for. */
  readonly used = new Set<string>();

  constructor(private readonly answers: SetupAnswers) {}

  given(id: string): readonly string[] {
    this.used.add(id);
    return this.answers.get(id) ?? [];
  }

  /** The answer; undefined while the question is open, its answer is wrong, or something has to be read first. */
  one<T>(question: SetupQuestion, parse: (text: string) => Parsed<T>): T | undefined {
    const [answer] = this.given(answerId(question));
    if (answer === undefined) {
      this.open.push(question);
      return undefined;
    }
    return this.parsed(question, answer, parse);
  }

  /** All answers of a list, without its `none`; undefined as above. */
  list<T>(question: SetupQuestion, parse: (text: string) => Parsed<T>): T[] | undefined {
    const answers = this.given(answerId(question));
    if (answers.length === 0) this.open.push(question);
    if (answers.length === 0 && !question.isOptional) return undefined;
    const values = answers.filter((one) => one !== 'none').map((one) => this.parsed(question, one, parse));
    const found = values.filter((one) => one !== undefined);
    return found.length === values.length ? found : undefined;
  }

  private parsed<T>(question: SetupQuestion, answer: string, parse: (text: string) => Parsed<T>): T | undefined {
    const parsed = parse(answer);
    if (parsed === undefined) return undefined;
    if ('value' in parsed) return parsed.value;
    this.wrong.push({ question, answer, problem: parsed.problem });
    return undefined;
  }

  tell(...notes: readonly SetupNote[]): void {
    this.notes.push(...notes);
  }
}

/** Reads something of the ERP. */
type Read<T> = (snapshot: ErpSnapshot) => Promise<T>;

/** The facts read until now. What is missing is noted, so that the driver can read it and ask again. */
export class Facts {
  private readonly read = new Map<string, unknown>();
  private readonly missing = new Map<string, Read<unknown>>();

  /** A fact by its key; undefined until it is read. */
  get<T>(key: readonly unknown[], read: Read<T>): T | undefined {
    const name = JSON.stringify(key);
    if (this.read.has(name)) return this.read.get(name) as T;
    this.missing.set(name, read);
    return undefined;
  }

  /** Reads what was missing. */
  async fill(snapshot: ErpSnapshot): Promise<void> {
    const missing = [...this.missing];
    this.missing.clear();
    for (const [name, read] of missing) this.read.set(name, await read(snapshot));
  }

  get isWhole(): boolean {
    return this.missing.size === 0;
  }
}
