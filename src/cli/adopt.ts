import { Argument, type Command } from 'commander';
import { type App, secretsOf } from '../app.js';
import { type AdoptFileResult, adoptFile } from '../jobs/adopt-file.js';
import { type CommonOptions, describeCommand, withApp } from './command.js';
import { exitCode } from './exit-codes.js';
import { Output, shorten } from './output.js';
import { readAdoptionFile } from './read-adoption-file.js';
import { UsageError } from './usage-error.js';

interface AdoptOptions extends CommonOptions {
  file: string;
  dryRun?: boolean;
  reason: string;
}

const shownProblems = 20;

export function adoptCommand(): Command {
  return describeCommand({
    name: 'adopt',
    summary: 'Say which records are at the service already: they are bound without sending, and get updates only.',
    example: 'waybill adopt customers --file customers.csv --dry-run',
    json: true,
  })
    .addArgument(new Argument('<entity>', 'what the list is about').choices(['customers', 'orders']))
    .requiredOption(
      '--file <csv>',
      'two columns: the key of the ERP, and the id at the service; a heading may stand above',
    )
    .option('--dry-run', 'check the list and say what would be done, write nothing')
    .option('--reason <text>', 'why, for the audit', 'no reason given')
    .action((plural: 'customers' | 'orders', options: AdoptOptions) =>
      withApp('adopt', options, (app) => adopt(app, plural, options)),
    );
}

async function adopt(app: App, plural: 'customers' | 'orders', options: AdoptOptions): Promise<number> {
  if (plural === 'customers' && app.settings.customers.send === 'none')
    throw new UsageError('customers.send is `none`: Waybill sends no customers, so that none has to be adopted.');
  const reader = app.reader();
  await reader.check();
  const result = await adoptFile(app.context, reader, {
    entity: plural === 'orders' ? 'order' : 'customer',
    lines: () => readAdoptionFile(options.file),
    dryRun: options.dryRun ?? false,
    reason: options.reason,
  });
  const output = new Output(secretsOf(app.settings));
  if (options.json) await output.printJson({ dryRun: options.dryRun ?? false, ...result });
  else await show(output, plural, result, options);
  return result.problemCount > 0 ? exitCode.failed : exitCode.done;
}

async function show(
  output: Output,
  plural: string,
  result: AdoptFileResult,
  { dryRun, file }: AdoptOptions,
): Promise<void> {
  const { problems, problemCount } = result;
  if (problemCount > 0) {
    await output.table(
      ['line', 'key', 'what is wrong'],
      problems.slice(0, shownProblems).map(({ line, sourceKey, why }) => [line, sourceKey, shorten(why, 160)]),
    );
    if (problemCount > shownProblems) await output.line(`… and ${problemCount - shownProblems} more.`);
    await output.line(
      result.bound === 0 || dryRun
        ? `${problemCount} of ${result.lines} lines of ${file} are wrong. Nothing was adopted.`
        : `Something changed meanwhile. ${result.bound} ${plural} were adopted before; correct the list and run it again for the rest.`,
    );
    return;
  }
  await output.line(
    `${dryRun ? 'Would adopt' : 'Adopted'} ${result.bound} ${plural}; ${result.known} were bound to the same ids before.`,
  );
  if (result.superseded > 0)
    await output.line(
      `${result.superseded} messages that were waiting ${dryRun ? 'would not be' : 'are not'} sent any more.`,
    );
  if (result.ordersWithoutCustomer > 0)
    await output.line(
      `The customers of ${result.ordersWithoutCustomer} orders are not known to be at the service: changes to these orders wait for them.`,
    );
  if (!dryRun && result.bound > 0)
    await output.line('Nothing was sent. What is edited in the ERP from now on is sent as an update.');
}
