import { createReadStream } from 'node:fs';
import { pipeline, Readable } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import { CsvError, type Info, parse } from 'csv-parse';
import type { RefusalFact } from '../model/facts/actions.js';
import { outside } from '../model/outside.js';
import type { NamedRecords } from '../operator/actions/action.js';
import type { AdoptionLine } from '../outbound/adoption/adopt-file.js';
import { UsageError } from './command.js';

const headings = {
  key: ['sourcekey', 'erpkey', 'key'],
  id: ['serviceid', 'id', 'orderid', 'customercode'],
};
const maxLength = 255;
/** Read once, however often its list is. */
let stdin: Promise<Buffer> | undefined;
const separators = [',', ';', '\t'] as const;

/**
 * Reads a list of records, as spreadsheets write it: with commas, semicolons or tabs, quoted or not, with or without a heading.
 * It streams, so that a long list needs no memory.
 * @param columns the key of the ERP, and the id at the service; or the key alone, and then every id is empty
 * @throws UsageError for a file that is not such a list at all; a fault in a single line comes as that line's problem
 */
export async function* readRecordList(file: string, columns: 1 | 2 = 2): AsyncGenerator<AdoptionLine> {
  let order: readonly [number, number] | null = null;
  let hasRecord = false;
  if (file === '-') stdin ??= buffer(process.stdin);
  const bytes = file === '-' ? ((await stdin) as Buffer) : null;
  try {
    // The beginning of the file, with its first line.
    const start = await text(
      bytes ? Readable.from([bytes.subarray(0, 4_096)]) : createReadStream(file, { end: 4_095 }),
    );
    if (start === '') throw new UsageError(`${file} is empty.`);
    const format = {
      delimiter: separatorOf(start),
      info: true,
      relax_column_count: true,
      skip_empty_lines: true,
      max_record_size: 10_000,
    };
    const parser = pipeline(
      bytes ? Readable.from([bytes]) : createReadStream(file),
      decodeUtf8,
      parse(format),
      () => undefined,
    );
    for await (const { record, info } of parser as AsyncIterable<{ record: string[]; info: Info }>) {
      const heading: readonly [number, number] | null = order === null ? orderOf(record, columns) : null;
      order ??= heading ?? [0, 1];
      if (heading !== null) continue;
      hasRecord = true;
      yield lineOf(record, info.lines, order, columns);
    }
    if (!hasRecord) throw new UsageError(`${file} has a heading and no record.`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw new UsageError(`There is no file ${file}.`);
    if ((error as NodeJS.ErrnoException).code === 'ERR_ENCODING_INVALID_ENCODED_DATA')
      throw new UsageError(`${file} is not text in UTF-8. Save it as “CSV UTF-8 (comma delimited)”.`);
    if (!(error instanceof CsvError)) throw error;
    // A quote that does not end swallows the rest of the file.
    yield { line: Number(error.lines ?? 0), problem: { code: 'line_unreadable', message: outside(error.message) } };
  }
}

/** Decodes strictly, and drops the byte order mark that spreadsheets put before the text. */
async function* decodeUtf8(source: AsyncIterable<Buffer>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  for await (const bytes of source) yield decoder.decode(bytes, { stream: true });
  yield decoder.decode();
}

/** The separator that makes two columns of the first line, or else the one that stands there most often. */
function separatorOf(text: string): string {
  const line = (/^\s*(.+)/.exec(text)?.[1] ?? '').replaceAll(/"[^"]*"/g, '');
  const columns = (separator: string) => line.split(separator).length;
  const [most = ','] = [...separators].sort((one, other) => columns(other) - columns(one));
  return separators.find((separator) => columns(separator) === 2) ?? most;
}

/** The places of the key and the id, when this line is a heading. */
function orderOf(record: readonly string[], columns: 1 | 2): readonly [number, number] | null {
  const names = record.map((name) => name.toLowerCase().replaceAll(/[^a-z]/g, ''));
  const key = names.findIndex((name) => headings.key.includes(name));
  const id = names.findIndex((name) => headings.id.includes(name));
  if (record.length !== columns || key < 0) return null;
  return columns === 1 || (id >= 0 && key !== id) ? [key, id] : null;
}

function lineOf(
  record: readonly string[],
  line: number,
  [key, id]: readonly [number, number],
  columns: 1 | 2,
): AdoptionLine {
  if (record.length !== columns)
    return { line, problem: { code: 'line_columns', found: record.length, needed: columns } };
  const sourceKey = record[key] as string;
  const serviceId = record[id] ?? '';
  if (sourceKey === '') return { line, problem: { code: 'line_without_key' } };
  if (columns === 2 && serviceId.trim() === '') return { line, problem: { code: 'line_without_service_id' } };
  if (sourceKey.length > maxLength || serviceId.length > maxLength)
    return { line, problem: { code: 'line_too_long', limit: maxLength } };
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern finds control characters
  if (/^\s|\s$|[\u0000-\u001f\u007f]/.test(serviceId)) return { line, problem: { code: 'line_service_id_spaced' } };
  return { line, sourceKey, serviceId };
}

/** Reads a list whole. A key or an id that several lines name is used for none of them: which line is right is not to be guessed. */
export async function readNamedRecords(file: string, columns: 1 | 2): Promise<NamedRecords> {
  const lines: Extract<AdoptionLine, { sourceKey: string }>[] = [];
  const unusable: { key: string; problem: RefusalFact }[] = [];
  for await (const one of readRecordList(file, columns))
    if ('problem' in one) unusable.push({ key: `line ${one.line}`, problem: one.problem });
    else lines.push(one);
  const linesOf = (nameOf: (line: (typeof lines)[number]) => string) =>
    lines.reduce(
      (all, one) => all.set(nameOf(one), [...(all.get(nameOf(one)) ?? []), one.line]),
      new Map<string, number[]>(),
    );
  const [byKey, byId] = [linesOf(({ sourceKey }) => sourceKey), linesOf(({ serviceId }) => serviceId)];
  const idByKey = new Map<string, string | null>();
  for (const { sourceKey: key, serviceId, line } of lines) {
    const sameKey = byKey.get(key) as number[];
    const sameId = columns === 2 ? (byId.get(serviceId) as number[]) : [line];
    if (sameKey.length > 1) unusable.push({ key, problem: { code: 'key_in_lines', lines: sameKey } });
    else if (sameId.length > 1)
      unusable.push({ key, problem: { code: 'service_id_in_lines', serviceId, lines: sameId } });
    else idByKey.set(key, columns === 2 ? serviceId : null);
  }
  return { idByKey, unusable };
}
