import { createHash } from 'node:crypto';
import { stringify } from 'csv-stringify/sync';
import { amountWithCurrency } from '../operator/format.js';
import { type Finding, listFindings, listSums, type Reconciliation } from '../operator/reconcile/reconcile-rows.js';
import { detailOf, proofOf } from '../operator/reconcile/summary.js';
import { type DaySum, totalsByCurrency } from '../operator/reconcile/sums.js';
import type { JobContext } from '../ops/job-context.js';
import { findingCauses } from '../words/en/reconcile.js';
import { tell } from '../words/words.js';

export interface ReportParts extends Pick<JobContext, 'store' | 'settings'> {
  /** Makes a text from outside harmless, and takes secrets out of it. */
  clean: (text: string) => string;
  time: (ms: number) => string;
}

/** A file of a report, by what it is known again. */
export interface ReportFile {
  name: string;
  rows: number;
  sha256: string;
}

/** The part that a section of a report adds to its file: a text, and its number of rows. */
interface Part {
  text: string;
  rows: number;
}

const pageSize = 500;

const findingColumns = [
  'kind',
  'cause',
  'entity',
  'key',
  'number',
  'serviceId',
  'day',
  'currency',
  'erpTotal',
  'serviceTotal',
  'difference',
];
const sumColumns = ['day', 'currency', 'erpRecords', 'erpTotal', 'serviceRecords', 'serviceTotal', 'difference'];

export type ReportEnd = '-differences.csv' | '-sums.csv' | '.html';

/** The names of a report's files. Pure. */
export function reportName({ subject }: Reconciliation, period: string, end: ReportEnd): string {
  return `waybill-${subject}-${period}${end}`;
}

/** All that a comparison has found, as CSV. */
export async function* findingsCsv(parts: ReportParts, run: Reconciliation): AsyncGenerator<Part> {
  yield* csvOf(parts, findingColumns, cellsOf(pagesOf(parts, run)));
}

/** With amounts as numbers: as a text, a negative one would be disarmed like a formula, and no spreadsheet could add it up. */
async function* cellsOf(pages: AsyncIterable<ShownFinding[]>): AsyncGenerator<object[]> {
  const amount = (minor: string | null) => (minor === null ? null : BigInt(minor));
  for await (const page of pages)
    yield page.map((one) => ({ ...one, erpTotal: amount(one.erpTotal), serviceTotal: amount(one.serviceTotal) }));
}

/** The sums by day and currency, as CSV. */
export async function* sumsCsv(parts: ReportParts, run: Reconciliation): AsyncGenerator<Part> {
  const sums = await parts.store.read('read the sums', (tx) => listSums(tx, run.id));
  const rows = sums.map((sum) => ({ ...sum, difference: sum.serviceTotal - sum.erpTotal }));
  yield* csvOf(parts, sumColumns, [rows]);
}

/** The page to be filed, which names the other files with their control sums. It is made as it is read. */
export async function* reportPage(
  parts: ReportParts,
  run: Reconciliation,
  about: { period: string; files: readonly ReportFile[] },
): AsyncGenerator<Part> {
  const sums = await parts.store.read('read the sums', (tx) => listSums(tx, run.id));
  yield { text: pageStart(parts, run, sums, about), rows: 0 };
  for await (const page of pagesOf(parts, run))
    yield { text: page.map((one) => findingRow(parts, one)).join(''), rows: page.length };
  yield { text: '</tbody></table>\n</body></html>\n', rows: 0 };
}

/** Hands on every part of a file. @returns by what the file is known again */
export async function measure(
  name: string,
  parts: AsyncIterable<Part>,
  write: (text: string) => Promise<unknown> | undefined = () => undefined,
): Promise<ReportFile> {
  const hash = createHash('sha256');
  let rows = 0;
  for await (const part of parts) {
    hash.update(part.text);
    rows += part.rows;
    await write(part.text);
  }
  return { name, rows, sha256: hash.digest('hex') };
}

async function* pagesOf({ store }: ReportParts, run: Reconciliation): AsyncGenerator<ShownFinding[]> {
  for (let afterId = 0; ; ) {
    const page = await store.read('read what was found', (tx) =>
      listFindings(tx, run.id, { afterId, limit: pageSize }),
    );
    const last = page.at(-1);
    if (!last) return;
    afterId = last.id;
    yield page.map((one) => ({ ...one, key: one.sourceKey, difference: tell(detailOf(one)) }));
  }
}

async function* csvOf(
  { clean }: ReportParts,
  columns: readonly string[],
  pages: AsyncIterable<object[]> | Iterable<object[]>,
): AsyncGenerator<Part> {
  yield { text: `${columns.join(',')}\n`, rows: 0 };
  // A spreadsheet would run `=HYPERLINK(…)` in a text that came from the ERP or the service.
  const format = { columns: [...columns], cast: { string: clean }, escape_formulas: true };
  for await (const page of pages) yield { text: stringify(page, format), rows: page.length };
}

type ShownFinding = Finding & { key: string; difference: string };

function pageStart(
  { settings, clean, time }: ReportParts,
  run: Reconciliation,
  sums: readonly DaySum[],
  { period, files }: { period: string; files: readonly ReportFile[] },
): string {
  const { subject, tally, startedAt, endedAt, actor } = run;
  const text = (value: string) => escapeHtml(clean(value));
  const money = (minor: bigint, currency: string) => text(amountWithCurrency(settings.amounts, `${minor}`, currency));
  const isList = subject === 'invoices';
  const sumRow = (day: string, one: Omit<DaySum, 'day'>) =>
    `<tr><td>${text(day)}</td><td>${text(one.currency)}</td><td>${one.erpRecords}</td><td>${money(one.erpTotal, one.currency)}</td>` +
    `<td>${one.serviceRecords}</td><td>${money(one.serviceTotal, one.currency)}</td>` +
    `<td>${money(one.serviceTotal - one.erpTotal, one.currency)}</td></tr>\n`;
  const { missing, different, extra, unjudged } = tally.found;
  const facts: [string, string][] = [
    ['Period', period],
    ['Installation', settings.installation],
    ['Service', `${settings.service.baseUrl} (${settings.service.environment})`],
    ['Compared', `${time(startedAt)} to ${endedAt === null ? '' : time(endedAt)}, by ${actor}`],
    ['Read', `${tally.read} ${subject} in ${tally.requests} requests`],
    ['Agree', `${tally.same}`],
    ['Differ', `${missing} missing, ${different} different, ${extra} extra`],
    ['Not judged', `${unjudged}`],
    ['Proof', tell(proofOf(run))],
    ...files.map(({ name, rows, sha256 }): [string, string] => ['File', `${name}: ${rows} rows, SHA-256 ${sha256}`]),
  ];
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${text(`${subject} ${period}`)}</title><style>
body{font:14px/1.4 sans-serif;margin:2em;max-width:70em}table{border-collapse:collapse;margin:1em 0}
th,td{border:1px solid #999;padding:.2em .5em;text-align:left;vertical-align:top}thead{background:#eee}
</style></head><body>
<h1>${text(`${subject[0]?.toUpperCase()}${subject.slice(1)}, ${period}: ${isList ? 'the list' : 'ERP'} and service compared`)}</h1>
<table><tbody>
${facts.map(([name, value]) => `<tr><th>${text(name)}</th><td>${text(value)}</td></tr>`).join('\n')}
</tbody></table>
<h2>Sums</h2>
<table><thead><tr><th>Day</th><th>Currency</th><th>${isList ? 'Before' : 'ERP'}</th><th>Amount</th><th>${isList ? 'Now' : 'Service'}</th><th>Amount</th><th>Difference</th></tr></thead><tbody>
${sums.map((one) => sumRow(one.day || 'no date', one)).join('')}${totalsByCurrency(sums)
  .map((one) => sumRow('All', one))
  .join('')}</tbody></table>
<h2>Differences</h2>
<table><thead><tr><th>What</th><th>Key</th><th>Number</th><th>At the service</th><th>Date</th><th>ERP</th><th>Service</th><th>Difference</th></tr></thead><tbody>
`;
}

function findingRow({ settings, clean }: ReportParts, one: ShownFinding): string {
  const text = (value: string | null) => escapeHtml(clean(value ?? ''));
  const money = (minor: string | null) =>
    minor === null ? '' : text(amountWithCurrency(settings.amounts, minor, one.currency));
  const cells = [
    text(findingCauses[one.cause].text),
    text(one.key),
    text(one.number),
    text(one.serviceId),
    text(one.day),
  ];
  const row = [...cells, money(one.erpTotal), money(one.serviceTotal), text(one.difference)];
  return `<tr>${row.map((cell) => `<td>${cell}</td>`).join('')}</tr>\n`;
}

function escapeHtml(text: string): string {
  const named: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
  return text.replace(/[&<>"']/g, (character) => named[character] as string);
}
