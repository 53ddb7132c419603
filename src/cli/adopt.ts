import type { Command } from 'commander';
import { shorten } from '../operator/format.js';
import { type AdoptFileResult, adoptFile } from '../outbound/adoption/adopt-file.js';
import {
  atSource,
  type CommandApp,
  entityOf,
  exitCode,
  inApp,
  jsonCommand,
  type Plural,
  pluralArgument,
  sourceOption,
  UsageError,
} from './command.js';
import { readRecordList } from './record-list.js';
import type { Output } from './terminal/output.js';

interface AdoptOptions {
  file: string;
  dryRun?: boolean;
  reason: string;
}

const shownProblems = 20;

export function adoptCommand(): Command {
  return jsonCommand(
    'adopt',
    'Bind records that the service already has, without sending them. Later edits are sent as updates.',
    'waybill adopt customers --file customers.csv --dry-run',
  )
    .addArgument(pluralArgument('<entity>', 'what the list is about'))
    .requiredOption(
      '--file <csv>',
      'two columns: the key of the ERP, and the id at the service; the first line may be a heading',
    )
    .addOption(sourceOption())
    .option('--dry-run', 'check the list and say what would be done; write nothing')
    .option('--reason <text>', 'why, for the audit', 'no reason given')
    .action(inApp(adopt));
}

async function adopt(app: CommandApp, options: AdoptOptions, plural: Plural): Promise<number> {
  const { context, reader, settings } = await atSource(app);
  if (plural === 'customers' && settings.customers.send === 'none')
    throw new UsageError('customers.send is `none`: Waybill sends no customers, so there are none to adopt.');
  await reader.check();
  const { file, reason, dryRun = false } = options;
  const lines = async function* () {
    for await (const line of readRecordList(file))
      yield 'problem' in line ? line : { ...line, sourceKey: app.keyOf(line.sourceKey) };
  };
  const result = await adoptFile(context, reader, { entity: entityOf(plural), lines, dryRun, reason });
  app.output.json({ dryRun, ...result });
  if (result.problemCount > 0) showProblems(app.output, plural, result, options);
  else showAdopted(app.output, plural, result, dryRun);
  return result.problemCount > 0 ? exitCode.failed : exitCode.done;
}

function showProblems(
  output: Output,
  plural: Plural,
  { problems, problemCount, bound, lines }: AdoptFileResult,
  { dryRun, file }: AdoptOptions,
): void {
  output.table(
    ['line', 'key', 'what is wrong'],
    problems
      .slice(0, shownProblems)
      .map(({ line, sourceKey, why }) => [line, sourceKey, shorten(output.tell(why), 160)]),
    { total: problemCount },
  );
  output.line(
    bound === 0 || dryRun
      ? `${problemCount} of ${lines} lines of ${file} are wrong. Nothing was adopted.`
      : `Something changed while the list was written, after ${bound} ${plural} were adopted. Correct the list and run it again for the rest.`,
  );
}

function showAdopted(output: Output, plural: Plural, result: AdoptFileResult, dryRun: boolean): void {
  const { bound, known, superseded, ours, ordersWithoutCustomer } = result;
  output.lines(
    `${dryRun ? 'Would adopt' : 'Adopted'} ${bound} ${plural}; ${known} were bound to the same ids before.`,
    superseded > 0 && `${superseded} waiting messages ${dryRun ? 'would not be' : 'are not'} sent any more.`,
    ours > 0 &&
      `Waybill may have sent ${ours} of them before, and what the ERP changed since is unknown: the next pass sends every field of them (more than capture.maxUpdates wait for: waybill confirm).`,
    ordersWithoutCustomer > 0 &&
      `Waybill does not know whether the service has the customers of ${ordersWithoutCustomer} orders. Changes to these orders wait for their customers.`,
    !dryRun && bound > 0 && 'Nothing was sent. From now on, Waybill sends edits in the ERP as updates.',
  );
}
