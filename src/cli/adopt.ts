import { createReadStream } from 'node:fs';
import { pipeline, Readable } from 'node:stream';
import { Argument, type Command } from 'commander';
import { CsvError, type Info, parse } from 'csv-parse';
import { type App, secretsOf } from '../app.js';
import { type AdoptFileResult, type AdoptionLine, adoptFile } from '../outbound/adoption/adopt-file.js';
import { type CommonOptions, describeCommand, exitCode, UsageError, withApp } from './command.js';
import { Output, shorten } from './terminal/output.js';

const headings = {
  key: ['sourcekey', 'erpkey', 'key'],
  id: ['serviceid', 'id', 'orderid', 'customercode'],
};
const maxLength = 255;
const separators = [',', ';', '\t'] as const;

/**
 * A list of two columns, the key of the ERP and the id at the service, as spreadsheets write it: with commas, semicolons or
 * tabs, quoted or not, with or without a heading. Read as it comes, so that a long one needs no memory.
 * @throws UsageError when it is no such file at all; what is wrong with a single line comes as that line's problem
 */
export async function* readAdoptionFile(file: string): AsyncGenerator<AdoptionLine> {
  const text = textOf(file);
  const first = await text.next();
  if (first.done || first.value === '') throw new UsageError(`${file} is empty.`);
  // What goes wrong in the source comes out of the parser.
  const parser = pipeline(
    Readable.from(rest(first.value, text)),
    parse({
      delimiter: separatorOf(first.value),
      info: true,
      relax_column_count: true,
      skip_empty_lines: true,
      max_record_size: 10_000,
    }),
    () => undefined,
  );
  let isFirst = true;
  let order: readonly [number, number] = [0, 1];
  try {
    for await (const { record, info } of parser as AsyncIterable<{ record: string[]; info: Info }>) {
      const heading = isFirst ? orderOf(record) : null;
      isFirst = false;
      if (heading === null) yield lineOf(record, info.lines, order);
      else order = heading;
    }
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    // Quotes that don't end take the rest of the file with them.
    yield { line: Number(error.lines ?? 0), problem: `the quotes or the length are wrong: ${error.message}` };
  }
}

async function* rest(first: string, text: AsyncIterator<string>): AsyncGenerator<string> {
  yield first;
  for (let next = await text.next(); !next.done; next = await text.next()) yield next.value;
}

/** The file as text, without the mark that spreadsheets put before it. */
async function* textOf(file: string): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  try {
    let start = '';
    for await (const bytes of createReadStream(file)) {
      const text = start + decoder.decode(bytes as Buffer, { stream: true });
      // The first line tells the separator, so it has to be whole.
      start = text.length < 4_096 ? text : '';
      if (start === '') yield text;
    }
    yield start + decoder.decode();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw new UsageError(`There is no file ${file}.`);
    if (error instanceof TypeError)
      throw new UsageError(`${file} is no text in UTF-8. Save it as “CSV UTF-8 (comma delimited)”.`);
    throw error;
  }
}

/** The one that makes two columns of the first line; a comma where none does. */
function separatorOf(text: string): string {
  const line = (/^\s*(.+)/.exec(text)?.[1] ?? '').replaceAll(/"[^"]*"/g, '');
  return separators.find((separator) => line.split(separator).length === 2) ?? ',';
}

/** Where the key and the id stand, when this line is a heading. */
function orderOf(record: readonly string[]): readonly [number, number] | null {
  const names = record.map((name) => name.toLowerCase().replaceAll(/[^a-z]/g, ''));
  const key = names.findIndex((name) => headings.key.includes(name));
  const id = names.findIndex((name) => headings.id.includes(name));
  return record.length === 2 && key >= 0 && id >= 0 && key !== id ? [key, id] : null;
}

function lineOf(record: readonly string[], line: number, [key, id]: readonly [number, number]): AdoptionLine {
  if (record.length !== 2)
    return { line, problem: `it has ${record.length} columns; write the key of the ERP and the id at the service` };
  const sourceKey = record[key] as string;
  const serviceId = record[id] as string;
  if (sourceKey === '') return { line, problem: 'the key of the ERP is empty' };
  if (serviceId.trim() === '') return { line, problem: 'the id at the service is empty' };
  if (sourceKey.length > maxLength || serviceId.length > maxLength)
    return { line, problem: `a key or an id is longer than ${maxLength} characters` };
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  if (/^\s|\s$|[\u0000-\u001f\u007f]/.test(serviceId))
    return { line, problem: 'the id at the service begins or ends with a space, or holds a line break' };
  return { line, sourceKey, serviceId };
}

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
