import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { Command } from 'commander';
import { CsvError, type Info, parse } from 'csv-parse';
import { type AdoptFileResult, type AdoptionLine, adoptFile } from '../outbound/adoption/adopt-file.js';
import {
  type CommandApp,
  entityOf,
  exitCode,
  inApp,
  jsonCommand,
  type Plural,
  pluralArgument,
  UsageError,
} from './command.js';
import { type Output, shorten } from './terminal/output.js';

const headings = {
  key: ['sourcekey', 'erpkey', 'key'],
  id: ['serviceid', 'id', 'orderid', 'customercode'],
};
const maxLength = 255;
const separators = [',', ';', '\t'] as const;

/**
 * Reads a list of two columns, the key of the ERP and the id at the service, as spreadsheets write it: with commas,
 * semicolons or tabs, quoted or not, with or without a heading. It streams, so that a long list needs no memory.
 * @throws UsageError for a file that is not such a list at all; a fault in a single line comes as that line's problem
 */
export async function* readAdoptionFile(file: string): AsyncGenerator<AdoptionLine> {
  let order: readonly [number, number] | null = null;
  try {
    // The beginning of the file, with its first line.
    const start = await text(createReadStream(file, { end: 4_095 }));
    if (start === '') throw new UsageError(`${file} is empty.`);
    const format = {
      delimiter: separatorOf(start),
      info: true,
      relax_column_count: true,
      skip_empty_lines: true,
      max_record_size: 10_000,
    };
    const parser = pipeline(createReadStream(file), decodeUtf8, parse(format), () => undefined);
    for await (const { record, info } of parser as AsyncIterable<{ record: string[]; info: Info }>) {
      const heading: readonly [number, number] | null = order === null ? orderOf(record) : null;
      order ??= heading ?? [0, 1];
      if (heading === null) yield lineOf(record, info.lines, order);
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw new UsageError(`There is no file ${file}.`);
    if ((error as NodeJS.ErrnoException).code === 'ERR_ENCODING_INVALID_ENCODED_DATA')
      throw new UsageError(`${file} is not text in UTF-8. Save it as “CSV UTF-8 (comma delimited)”.`);
    if (!(error instanceof CsvError)) throw error;
    // A quote that does not end swallows the rest of the file.
    yield { line: Number(error.lines ?? 0), problem: `the quotes or the length are wrong: ${error.message}` };
  }
}

/** Decodes strictly, and drops the byte order mark that spreadsheets put before the text. */
async function* decodeUtf8(source: AsyncIterable<Buffer>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  for await (const bytes of source) yield decoder.decode(bytes, { stream: true });
  yield decoder.decode();
}

/** The separator that makes two columns of the first line, or else a comma. */
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
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern finds control characters
  if (/^\s|\s$|[\u0000-\u001f\u007f]/.test(serviceId))
    return { line, problem: 'the id at the service begins or ends with a space, or holds a line break' };
  return { line, sourceKey, serviceId };
}

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
    .option('--dry-run', 'check the list and say what would be done; write nothing')
    .option('--reason <text>', 'why, for the audit', 'no reason given')
    .action(inApp(adopt));
}

async function adopt(app: CommandApp, options: AdoptOptions, plural: Plural): Promise<number> {
  if (plural === 'customers' && app.settings.customers.send === 'none')
    throw new UsageError('customers.send is `none`: Waybill sends no customers, so there are none to adopt.');
  const reader = app.reader();
  await reader.check();
  const { file, reason, dryRun = false } = options;
  const lines = () => readAdoptionFile(file);
  const result = await adoptFile(app.context, reader, { entity: entityOf(plural), lines, dryRun, reason });
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
    problems.slice(0, shownProblems).map(({ line, sourceKey, why }) => [line, sourceKey, shorten(why, 160)]),
    { total: problemCount },
  );
  output.line(
    bound === 0 || dryRun
      ? `${problemCount} of ${lines} lines of ${file} are wrong. Nothing was adopted.`
      : `Something changed while the list was written, after ${bound} ${plural} were adopted. Correct the list and run it again for the rest.`,
  );
}

function showAdopted(output: Output, plural: Plural, result: AdoptFileResult, dryRun: boolean): void {
  const { bound, known, superseded, ordersWithoutCustomer } = result;
  output.lines(
    `${dryRun ? 'Would adopt' : 'Adopted'} ${bound} ${plural}; ${known} were bound to the same ids before.`,
    superseded > 0 && `${superseded} waiting messages ${dryRun ? 'would not be' : 'are not'} sent any more.`,
    ordersWithoutCustomer > 0 &&
      `Waybill does not know whether the service has the customers of ${ordersWithoutCustomer} orders. Changes to these orders wait for their customers.`,
    !dryRun && bound > 0 && 'Nothing was sent. From now on, Waybill sends edits in the ERP as updates.',
  );
}
