import { type SetupAnswers, type SetupQuestion, type SetupStep, setupSteps } from '../../model/setup-questions.js';
import { answerId, type WrongAnswer } from '../../operator/setup/init/asking.js';
import type { Setup, SetupState } from '../../operator/setup/init/init.js';
import { evidenceInWords, setupProblemInWords, setupQuestionInWords, setupStepTitles } from '../../words/en/setup.js';
import { UsageError } from '../command.js';
import type { Output } from '../terminal/output.js';
import { ask, writeError } from '../terminal/streams.js';

interface Talk {
  output: Output;
  /** Answers by flags: they are not asked for. */
  given: SetupAnswers;
  /** Answers of an earlier run. */
  kept: SetupAnswers;
  /** Keeps the answers until now. */
  save(answers: SetupAnswers): Promise<void>;
}

/** Goes back to the question before. */
const BACK = 'back';

/** Asks step by step until nothing is open. Each answer is kept, and `back` takes the last one away. */
export async function askOnTerminal(setup: Setup, { output, given, kept, save }: Talk): Promise<SetupState> {
  const said = new Map(kept);
  const all = () => new Map([...said, ...given]);
  let shown: string | null = null;
  for (;;) {
    const state = await setup.look(all());
    const stale = state.wrong.find((one) => said.has(answerId(one.question)) && !given.has(answerId(one.question)));
    if (stale !== undefined) {
      // The ERP is not what it was at that answer, or an answer before it has changed.
      said.delete(answerId(stale.question));
      continue;
    }
    refuseWrong(state);
    const [question] = inSteps(state.open);
    if (question === undefined) return state;
    const heading = headingOf(question.step, state.open, all());
    const place = `${question.step} ${tablesOf(all()).join()}`;
    if (shown !== place) writeError('', ...heading.map((line) => output.clean(line)));
    shown = place;
    const answer = await askOne(setup, output, question, all());
    if (answer === BACK) {
      const last = [...said.keys()].at(-1);
      if (last === undefined) writeError('This is the first question.');
      else said.delete(last);
    } else said.set(...answer);
    await save(said);
  }
}

/** The questions of the earliest step first, in their order. */
function inSteps(open: readonly SetupQuestion[]): SetupQuestion[] {
  const at = ({ step }: SetupQuestion) => setupSteps.indexOf(step);
  return [...open].sort((a, b) => at(a) - at(b));
}

const tablesOf = (answers: SetupAnswers) =>
  ['orders-table', 'lines-table', 'customers-table'].flatMap((flag) => answers.get(flag) ?? []);

/** The step with its tables, and the flags of its questions. */
function headingOf(step: SetupStep, open: readonly SetupQuestion[], answers: SetupAnswers): string[] {
  const tables = tablesOf(answers);
  const flags = open.filter((one) => one.step === step).map(({ flag, role }) => role ?? flag);
  return [
    `${setupStepTitles[step]}${tables.length > 0 ? ` (${tables.join(', ')})` : ''}: ${flags.join(', ')}`,
    `Enter takes the value in brackets. ${BACK}: the question before.`,
  ];
}

/** Asks one question until an answer holds. */
async function askOne(
  setup: Setup,
  output: Output,
  question: SetupQuestion,
  answers: SetupAnswers,
): Promise<[id: string, answers: string[]] | typeof BACK> {
  const { candidates, suggestion, isList, isOptional } = question;
  writeError(
    ...candidates.map(({ value, evidence }) => {
      const note = evidence.map(evidenceInWords).join(', ');
      return `  ${output.clean(note === '' ? shownValue(value) : `${shownValue(value)}: ${note}`)}`;
    }),
  );
  const text = output.clean(setupQuestionInWords(question));
  const chosen: string[] = [];
  for (let problem = ''; ; ) {
    const [words, usual] =
      chosen.length > 0 ? ['Another one?', 'none'] : [text, suggestion ?? (isOptional ? 'none' : undefined)];
    const typed = await ask(`${problem}${words}${usual === undefined ? '' : ` [${usual}]`}`);
    if (typed === BACK) return BACK;
    const answer = typed === '' ? usual : typed;
    if (answer === undefined) {
      problem = 'An answer is needed. ';
      continue;
    }
    if (answer === 'none' && chosen.length > 0) return [answerId(question), chosen];
    const [id, value] = placeOf(question, answer);
    const state = await setup.look(new Map([...answers, [id, [...chosen, value]]]));
    const wrong = state.wrong.find((one) => answerId(one.question) === id);
    problem = wrong === undefined ? '' : `${output.clean(setupProblemInWords(wrong.problem))}. `;
    if (wrong !== undefined) continue;
    if (!isList || answer === 'none') return [id, [value]];
    chosen.push(value);
  }
}

/** An empty value can't be seen. */
const shownValue = (value: string) => (value === '' ? "''" : value);

/** The question that an answer belongs to: an amount is typed where the price is asked for. */
function placeOf(question: SetupQuestion, answer: string): [id: string, value: string] {
  const [, role, value = ''] = /^(line\.price|line\.amount)=(.+)$/.exec(answer) ?? [];
  if (role !== undefined && question.role?.startsWith('line.')) return [role, value];
  const own = question.role === undefined ? '' : `${question.role}=`;
  return [answerId(question), own !== '' && answer.startsWith(own) ? answer.slice(own.length) : answer];
}

/** @throws UsageError for the first answer that can't be taken */
export function refuseWrong({ wrong: [wrong] }: Pick<SetupState, 'wrong'>): void {
  if (wrong !== undefined) throw new UsageError(inFlags(wrong));
}

function inFlags({ question: { flag, role }, answer, problem }: WrongAnswer): string {
  const given = role === undefined || answer.startsWith(`${role}=`) ? answer : `${role}=${answer}`;
  return `--${flag} ${given}: ${setupProblemInWords(problem)}`;
}
