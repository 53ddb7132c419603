import { createReadStream } from 'node:fs';
import { pipeline, Readable } from 'node:stream';
import { CsvError, type Info, parse } from 'csv-parse';
import type { AdoptionLine } from '../jobs/adopt-file.js';
import { UsageError } from './usage-error.js';

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
