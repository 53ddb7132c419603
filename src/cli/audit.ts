import { type Command, Option } from 'commander';
import { stringify } from 'csv-stringify/sync';
import { type AuditFilter, type AuditLine, readAuditPage, startOfLast } from '../audit/read-audit.js';
import { type FindBy, recordsInAudit } from '../operator/find-records.js';
import { isoFormatter } from '../operator/format.js';
import { detailsInWords } from '../words/words.js';
import { exportCommand, headCommand, verifyCommand } from './audit/verify.js';
import {
  type CommandApp,
  defined,
  entityOption,
  inApp,
  jsonCommand,
  limitOption,
  parseRange,
  repeatable,
} from './command.js';
import { byOption, namingOf, noteAmbiguous } from './named-records.js';
import type { Output } from './terminal/output.js';
import { readerLeft, writeOut } from './terminal/streams.js';

interface AuditOptions extends Pick<AuditFilter, 'entity' | 'outcome' | 'event'> {
  since?: string;
  until?: string;
  key?: string[];
  by?: FindBy;
  limit?: number;
  csv?: boolean;
}

const pageSize = 500;
const defaultLimit = 100;

export function auditCommand(): Command {
  return (
    jsonCommand(
      'audit',
      'Print the append-only log: what was done, when, by whom, and with what outcome. Subcommands prove it.',
      'waybill audit --since 2026-11-01 --outcome refused',
    )
      .option('--since <date>', 'from this date or time on (included), in erp.timeZone')
      .option('--until <date>', 'before this date or time, in erp.timeZone')
      .addOption(repeatable('--key <key>', 'only this ERP key, order number or customer code'))
      .addOption(byOption())
      .addOption(entityOption())
      .option('--outcome <word>', 'only this outcome: delivered, refused, in_doubt, unmapped …')
      .option('--event <word>', 'only this event: captured, attempt, delivered, parked, operator, pull …')
      .addOption(limitOption(`only the last n lines (default ${defaultLimit}; with --csv all)`))
      .addOption(new Option('--csv', 'print comma-separated values, for a spreadsheet').conflicts('json'))
      // As for `outbox`: the options behind a subcommand are its own.
      .enablePositionalOptions()
      .action(inApp(showAudit, { needsStore: true }))
      .addCommand(verifyCommand())
      .addCommand(headCommand())
      .addCommand(exportCommand())
  );
}

async function showAudit(app: CommandApp, options: AuditOptions): Promise<void> {
  const filter = await filterOf(app, options);
  const limit = options.limit ?? (options.csv ? null : defaultLimit);
  const start =
    limit === null
      ? { afterId: 0, older: false }
      : await app.store.read('look where the audit begins', (tx) => startOfLast(tx, filter, limit));
  const { output, settings } = app;
  const iso = isoFormatter(settings.erp.timeZone);
  const pages = readPages(app, filter, start.afterId);
  if (options.csv) await writeCsv(output, pages, iso);
  else if (output.isJson) await writeJson(output, pages, iso);
  else await writeText(output, pages, start.older ? limit : null);
}

async function filterOf(app: CommandApp, options: AuditOptions): Promise<AuditFilter> {
  const { entity, outcome, event, key, by } = options;
  const { timeZone } = app.settings.erp;
  const [since, until] = parseRange(['--since', options.since], ['--until', options.until], timeZone);
  return defined({ since, until, entity, outcome, event, records: key && (await recordsOf(app, key, by)) });
}

async function recordsOf(
  app: CommandApp,
  keys: readonly string[],
  by: FindBy | undefined,
): Promise<AuditFilter['records']> {
  const look = () => app.store.read('look for records', (tx) => recordsInAudit(tx, keys, namingOf(app, by)));
  const { found, records } = await look();
  noteAmbiguous(found);
  return records;
}

/** Page by page: a log of years is never in memory, and no read stays open while a slow reader of stdout takes its time. */
async function* readPages({ store }: CommandApp, filter: AuditFilter, start: number): AsyncGenerator<AuditLine[]> {
  for (let afterId = start; ; ) {
    const page = await store.read('read the audit', (tx) => readAuditPage(tx, filter, afterId, pageSize));
    const last = page.at(-1);
    if (!last) return;
    afterId = last.id;
    yield page;
    if (page.length < pageSize || readerLeft()) return;
  }
}

/** Writes page after page as soon as it is read. @returns how many lines there were */
async function writePages(
  pages: AsyncGenerator<AuditLine[]>,
  textOf: (page: readonly AuditLine[], linesBefore: number) => string,
): Promise<number> {
  let count = 0;
  for await (const page of pages) {
    await writeOut(textOf(page, count));
    count += page.length;
  }
  return count;
}

async function writeText(output: Output, pages: AsyncGenerator<AuditLine[]>, shortenedTo: number | null) {
  const textOf = (line: AuditLine) => {
    const record = line.entity === null ? '' : `${line.entity} ${line.sourceKey}`;
    const what = `${line.event}${line.outcome === null || line.outcome === line.event ? '' : ` ${line.outcome}`}`;
    const words = [
      output.time(line.at),
      what.padEnd(24),
      record.padEnd(20),
      detailsInWords(line.detail, output),
      `by ${line.actor}`,
    ];
    return `${output.clean(words.filter(Boolean).join('  '))}\n`;
  };
  const count = await writePages(pages, (page) => page.map(textOf).join(''));
  if (count === 0) output.line('No line matches.');
  else if (shortenedTo !== null)
    output.line(
      `The last ${shortenedTo} lines. For more use --limit, for all --csv, for a part --since, --until or --key.`,
    );
}

type WriteTime = (ms: number) => string | null;

async function writeJson(output: Output, pages: AsyncGenerator<AuditLine[]>, iso: WriteTime): Promise<void> {
  const textOf = (line: AuditLine) => output.jsonText({ ...line, at: iso(line.at) });
  const count = await writePages(
    pages,
    (page, linesBefore) => `${linesBefore === 0 ? '[\n' : ',\n'}${page.map(textOf).join(',\n')}`,
  );
  await writeOut(count === 0 ? '[]\n' : '\n]\n');
}

const csvHead = 'id,at,event,outcome,entity,sourceKey,messageId,attemptId,actor,detail';

async function writeCsv(output: Output, pages: AsyncGenerator<AuditLine[]>, iso: WriteTime): Promise<void> {
  await writeOut(`${csvHead}\n`);
  const columns = csvHead.split(',');
  const cast = { string: (text: string) => output.clean(text), object: (detail: object) => output.jsonText(detail) };
  const textOf = (page: readonly AuditLine[]) =>
    // A spreadsheet would run `=HYPERLINK(…)` in a text that came from the ERP or the service.
    stringify(
      page.map((line) => ({ ...line, at: iso(line.at) })),
      { columns, cast, escape_formulas: true },
    );
  await writePages(pages, textOf);
}
