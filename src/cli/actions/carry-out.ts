import type { ActionContext, LeftAlone, Preview } from '../../operator/actions/action.js';
import { WrongAction } from '../../operator/actions/action.js';
import { type ActionName, actionOf } from '../../operator/actions/actions.js';
import { amountFormatter, shorten } from '../../operator/format.js';
import { counted, labelsOf } from '../../words/en/action-labels.js';
import { sidesInWords } from '../../words/en/actions.js';
import { factsInWords, tell } from '../../words/words.js';
import { type CommandApp, confirm, exitCode, UsageError } from '../command.js';

/** The number of records that moved on and are named. */
const shownLeft = 20;

interface Choices {
  reason: string;
  yes?: boolean | undefined;
  /** The person sees the preview alone, and reads this. */
  onlyLooks?: string;
  /** Exit code where nothing is there to act on. */
  ifNone?: number;
}

/** A command's tools for an action: it may ask the service and the ERP itself. */
export function actionContext({ context, client, reader }: CommandApp): ActionContext {
  return { ...context, client, reader, asksToInsist: false, most: Number.POSITIVE_INFINITY };
}

/** Shows what an action would do, asks, does it, and says what came of it. @returns the exit code */
export async function carryOut(
  app: CommandApp,
  name: ActionName,
  preview: Preview,
  { reason, yes, onlyLooks, ifNone = exitCode.failed }: Choices,
): Promise<number> {
  const { output } = app;
  const { question, outcome, noun, none } = labelsOf(name);
  const { matched, count, data } = preview;
  const skipped = preview.skipped.flatMap(({ examples }) => examples);
  const answer = (done: number, more: object, left: readonly LeftAlone[]) => {
    const only = matched === 1 && left.length === 1 && { problem: left[0]?.why };
    output.json(factsInWords({ action: name, matched, ...data, ...only, done, left, ...more }, output));
  };
  const isNothing = count === 0 && !preview.isMore;
  if (matched === 0 && none !== undefined) output.line(none);
  if (matched > 0 || !isNothing) showPreview(app, name, preview);
  if (isNothing || onlyLooks !== undefined) {
    if (!isNothing && onlyLooks) output.line(onlyLooks);
    answer(0, {}, skipped);
    if (!isNothing) return exitCode.waitsForPerson;
    return matched === 0 ? ifNone : exitCode.failed;
  }
  const isAgreed = actionOf(name).isHarmless || (await confirm(`${question}: ${counted(count, noun)}?`, yes));
  if (!isAgreed) {
    output.line('Nothing was done.');
    return exitCode.failed;
  }
  const result = await preview.act(actionContext(app), { reason, insists: false });
  const { done, left, notes = [] } = result;
  answer(done, result.data ?? {}, [...skipped, ...left]);
  output.line(`${outcome}: ${counted(done, noun)}.`);
  output.lines(...left.slice(0, shownLeft).map((one) => leftLine(app, one)));
  if (left.length > shownLeft) output.line(`… and ${left.length - shownLeft} more.`);
  output.lines(...notes.map((note) => tell(note, output)));
  if (done === 0 && count > 0) return exitCode.failed;
  return preview.skipped.length > 0 || left.length > 0 ? exitCode.waitsForPerson : exitCode.done;
}

/** The one way in which a terminal shows what an action would do. */
function showPreview({ output, settings }: CommandApp, name: ActionName, preview: Preview): void {
  const { matched, count, rows, skipped, notes = [], spread = [], claims = [], invoices = [], isListed } = preview;
  const { noun, possible } = labelsOf(name);
  output.lines(...notes.map((note) => tell(note, output)));
  if (spread.length > 0)
    output.table(
      ['count', 'what'],
      spread.map(({ what, count: times }) => [times, shorten(tell(what, output), 110)]),
    );
  if (rows.length > 0)
    output.table(
      ['entity', 'key', 'number', 'what', 'state', 'reason', 'becomes'],
      rows.map(({ entity, sourceKey, number, what, state, why, becomes }) => [
        ...[entity, sourceKey, number, what, state, why && shorten(tell(why, output), 60)],
        shorten(tell(becomes, output), 60),
      ]),
      { total: count },
    );
  if (invoices.length > 0) {
    const amount = amountFormatter(settings.amounts);
    output.table(
      ['invoice', 'customer', `amount (${settings.amounts.currency})`, 'due'],
      invoices.map((one) => [one.invoice_no, one.customer_code, amount(one.amount), one.due_date]),
      { total: count },
    );
  }
  for (const { serviceId, check } of claims)
    if (check.kind === 'same') output.line(`The service shows it as ${serviceId}: ${sidesInWords(check.sides)}.`);
  const unshown = claims.filter(({ check }) => check.kind !== 'same').length;
  if (unshown > 0) output.line(`Not checked at the service: ${counted(unshown, noun)}, recorded as your word alone.`);
  if (isListed) output.line(`${matched} records are listed; ${possible}: ${counted(count, noun)}.`);
  else if (possible !== undefined) output.line(`${counted(matched, noun)} match; ${possible}: ${count} of them.`);
  for (const { why, count: times, examples } of skipped) {
    const [example] = examples;
    if (isListed) output.lines(...examples.map((one) => leftLine({ output }, { ...one, entity: null })));
    else if (matched === 1) output.lines(...examples.map((one) => leftLine({ output }, one)));
    else {
      const what = example && ` (${times > 1 ? 'for one ' : ''}${example.entity} ${example.number ?? example.key})`;
      output.line(`Left alone: ${times}${what ?? ''}: ${tell(why, output)}.`);
    }
  }
  if (skipped.some(({ why }) => why.code === 'unproven_claim'))
    output.line('Look at the service yourself first. To record it all the same: --unchecked');
}

function leftLine({ output }: Pick<CommandApp, 'output'>, { entity, key, why }: LeftAlone): string {
  const record = [entity, key].filter(Boolean).join(' ');
  return `Left alone: ${record === '' ? '' : `${record}: `}${tell(why, output)}.`;
}

/** Turns a wrong action into wrong usage: a person who types options can type others. @throws UsageError */
export function asUsage(error: unknown): never {
  if (error instanceof WrongAction) throw new UsageError(tell(error.fact));
  throw error;
}
