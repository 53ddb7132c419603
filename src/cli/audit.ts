import { type Command, Option } from 'commander';
import { stringify } from 'csv-stringify/sync';
import { type App, secretsOf } from '../app.js';
import { type AuditFilter, type AuditLine, readAuditPage, startOfLast } from '../audit/read-audit.js';
import type { Entity } from '../model/record.js';
import { findRecords } from '../operator/find-records.js';
import {
  type CommonOptions,
  collect,
  describeCommand,
  exitCode,
  positiveInteger,
  UsageError,
  withApp,
} from './command.js';
import { isoFormatter, parseTime, timeFormatter } from './terminal/format.js';
import { Output, readerLeft, writeOut } from './terminal/output.js';

interface AuditOptions extends CommonOptions {
  since?: string;
  until?: string;
  key?: string[];
  entity?: Entity;
  outcome?: string;
  event?: string;
  limit?: number;
  csv?: boolean;
}

const pageSize = 500;
const defaultLimit = 100;

export function auditCommand(): Command {
  return describeCommand({
    name: 'audit',
    summary: 'What was done, when, by whom and with what outcome: the log that is only ever added to.',
    example: 'waybill audit --since 2026-11-01 --outcome refused',
    json: true,
  })
    .option('--since <date>', 'from this date or time on (included), in erp.timeZone')
    .option('--until <date>', 'before this date or time, in erp.timeZone')
    .option('--key <key>', 'only this ERP key or number (may be repeated)', collect)
    .addOption(new Option('--entity <entity>', 'only customers or only orders').choices(['customer', 'order']))
    .option('--outcome <word>', 'only this outcome: delivered, refused, in_doubt, unmapped …')
    .option('--event <word>', 'only this event: captured, attempt, delivered, parked, operator, pull …')
    .option('--limit <n>', `only the last n lines (default ${defaultLimit}; with --csv all)`, positiveInteger)
    .addOption(new Option('--csv', 'print comma-separated values, for a spreadsheet').conflicts('json'))
    .action((options: AuditOptions) => withApp('audit', options, (app) => showAudit(app, options)));
}

async function showAudit(app: App, options: AuditOptions): Promise<number> {
  const filter = await filterOf(app, options);
  const limit = options.limit ?? (options.csv ? null : defaultLimit);
  const start =
    limit === null
      ? { afterId: 0, older: false }
      : await app.store.read('look where the audit begins', (tx) => startOfLast(tx, filter, limit));
  const output = new Output(secretsOf(app.settings));
  const lines = pages(app, filter, start.afterId);
  if (options.csv) await writeCsv(app, output, lines);
  else if (options.json) await writeJson(app, output, lines);
  else await writeText(app, output, lines, start.older ? limit : null);
  return exitCode.done;
}

async function filterOf(app: App, options: AuditOptions): Promise<AuditFilter> {
  const { timeZone } = app.settings.erp;
  const since = options.since === undefined ? undefined : parseTime('--since', options.since, timeZone);
  const until = options.until === undefined ? undefined : parseTime('--until', options.until, timeZone);
  if (since !== undefined && until !== undefined && until <= since)
    throw new UsageError('--until is not after --since: nothing can lie between them.');
  return {
    ...(since === undefined ? {} : { since }),
    ...(until === undefined ? {} : { until }),
    ...(options.entity ? { entity: options.entity } : {}),
    ...(options.outcome === undefined ? {} : { outcome: options.outcome }),
    ...(options.event === undefined ? {} : { event: options.event }),
    ...(options.key ? { records: await recordsOf(app, options.key) } : {}),
  };
}

/** The log knows keys only; numbers are looked up. A key whose messages are gone may still be in the log. */
async function recordsOf(app: App, keys: readonly string[]): Promise<{ entity: Entity; sourceKey: string }[]> {
  return app.store.read('look for records', async (tx) => {
    const records: { entity: Entity; sourceKey: string }[] = [];
    for (const entity of ['customer', 'order'] as const) {
      for (const key of keys)
        records.push({ entity, sourceKey: key }, ...(await findRecords(tx, entity, key, 'number')));
    }
    return records;
  });
}

/** Page by page: a log of years is never in memory, and no read is open while a slow reader thinks. */
async function* pages(app: App, filter: AuditFilter, start: number): AsyncGenerator<AuditLine[]> {
  for (let afterId = start; ; ) {
    const page = await app.store.read('read the audit', (tx) => readAuditPage(tx, filter, afterId, pageSize));
    const last = page.at(-1);
    if (!last) return;
    afterId = last.id;
    yield page;
    if (page.length < pageSize || readerLeft()) return;
  }
}

async function writeText(
  app: App,
  output: Output,
  lines: AsyncGenerator<AuditLine[]>,
  shortenedTo: number | null,
): Promise<void> {
  const time = timeFormatter(app.settings.erp.timeZone);
  let count = 0;
  for await (const page of lines) {
    let text = '';
    for (const line of page) {
      const record = line.entity === null ? '' : `${line.entity} ${line.sourceKey}`;
      const what = `${line.event}${line.outcome === null || line.outcome === line.event ? '' : ` ${line.outcome}`}`;
      const words = [time(line.at), what.padEnd(24), record.padEnd(20), detailInWords(line), `by ${line.actor}`];
      text += `${output.clean(words.filter(Boolean).join('  '))}\n`;
      count++;
    }
    await writeOut(text);
  }
  if (count === 0) await output.line('No line matches.');
  else if (shortenedTo !== null)
    await output.line(
      `The last ${shortenedTo} lines; more with --limit, all with --csv, a part with --since, --until or --key.`,
    );
}

/** The details that are there, in few words; hashes and keys only in --json and --csv. */
function detailInWords({ detail }: AuditLine): string {
  const hidden = new Set(['idempotencyKey', 'bodyHash', 'excerptHash', 'startedAt', 'nextAttemptAt']);
  return Object.entries(detail)
    .filter(([name, value]) => value !== null && !hidden.has(name))
    .map(([name, value]) => `${name}=${typeof value === 'object' ? JSON.stringify(value) : value}`)
    .join(' ');
}

async function writeJson(app: App, output: Output, lines: AsyncGenerator<AuditLine[]>): Promise<void> {
  const iso = isoFormatter(app.settings.erp.timeZone);
  let separator = '[\n';
  for await (const page of lines) {
    let text = '';
    for (const line of page) {
      text += `${separator}${output.json({ ...line, at: iso(line.at) })}`;
      separator = ',\n';
    }
    await writeOut(text);
  }
  await writeOut(separator === '[\n' ? '[]\n' : '\n]\n');
}

const csvColumns = [
  'id',
  'at',
  'event',
  'outcome',
  'entity',
  'sourceKey',
  'messageId',
  'attemptId',
  'actor',
  'detail',
] as const;

async function writeCsv(app: App, output: Output, lines: AsyncGenerator<AuditLine[]>): Promise<void> {
  const iso = isoFormatter(app.settings.erp.timeZone);
  await writeOut(stringify([[...csvColumns]]));
  for await (const page of lines) {
    const rows = page.map((line) =>
      csvColumns.map((column) => {
        if (column === 'at') return iso(line.at);
        if (column === 'detail') return output.json(line.detail);
        const value = line[column];
        return typeof value === 'string' ? output.clean(value) : value;
      }),
    );
    // A spreadsheet would run `=HYPERLINK(…)` in a text that came from the ERP or the service.
    await writeOut(stringify(rows, { escape_formulas: true }));
  }
}
