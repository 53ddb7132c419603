import type { Command } from 'commander';
import type { Settings } from '../../config/settings.js';
import type { ErpRow } from '../../db/erp-database.js';
import { amountWithCurrency, shorten } from '../../operator/format.js';
import { type Preview, previewRecords } from '../../operator/setup/preview/preview-records.js';
import type { ShownOrder, ShownRecord } from '../../operator/setup/preview/show-order.js';
import { factsInWords, tell, tellWhole } from '../../words/words.js';
import {
  atSource,
  type CommandApp,
  defined,
  exitCode,
  inApp,
  jsonCommand,
  limitOption,
  namedHolds,
  repeatable,
  sourceOption,
  UsageError,
} from '../command.js';
import type { Output } from '../terminal/output.js';
import { progressBar } from '../terminal/progress-bar.js';
import { stopSignal } from '../terminal/stop-signal.js';
import { readerLeft, writeError, writeOut } from '../terminal/streams.js';

interface PreviewOptions {
  key?: string[];
  all?: boolean;
  limit?: number;
}

const longestValue = 200;

export function previewCommand(): Command {
  return jsonCommand(
    'preview',
    'Show what the settings make of the ERP: which orders could be sent, which not and why, and one in full. Stores and sends nothing.',
    'waybill preview --key 4711',
  )
    .addOption(repeatable('--key <key>', 'only the order with this key of the ERP, in full, or why it may not be sent'))
    .addOption(limitOption('read only the first n orders, and show each in full'))
    .option('--all', 'show every order in full')
    .addOption(sourceOption())
    .action(
      inApp(preview, {
        readOnly: 'if-any',
        check: ({ key, all, limit }: PreviewOptions) => {
          if ([key, all, limit].filter((one) => one !== undefined).length > 1)
            throw new UsageError('--key, --limit and --all choose orders in three ways: give one of them.');
        },
      }),
    );
}

async function preview(app: CommandApp, { key, all, limit }: PreviewOptions): Promise<number> {
  const { output } = app;
  const { context, settings, reader } = await atSource(app);
  const keys = key?.map(app.keyOf);
  await reader.check();
  const stop = stopSignal();
  const bar = progressBar();
  let shown = 0;
  try {
    const found = await previewRecords(context, reader, {
      ...defined({ keys, limit }),
      shown: keys || all ? Number.POSITIVE_INFINITY : (limit ?? 1),
      signal: stop.signal,
      // A limited pass is over before a bar says anything.
      ...(!keys && !limit && { onProgress: ({ read, total }) => bar.show({ stage: 'capture', done: read, total }) }),
      onOrder: async (order) => {
        if (readerLeft()) return;
        if (output.isJson)
          await writeOut(`${shown === 0 ? '{"shown":[' : ','}\n${output.jsonText(factsInWords(order, output))}`);
        else await writeOut(orderInWords(order, output, settings));
        shown++;
      },
    });
    bar.stop();
    if (output.isJson) {
      const json = factsInWords(
        {
          ...found,
          ...namedHolds(found.holds.map((hold) => tell(hold))),
          // Scripts may read the cause by its name of the version before.
          causes: found.causes.map((one) => ({ ...one, example: one.cause })),
          isStoreAbsent: app.isStoreAbsent,
          environment: settings.service.environment,
        },
        output,
      );
      const rest = output.jsonText(json);
      await writeOut(`${shown === 0 ? '{"shown":[' : ''}],${rest.slice(1)}\n`);
    } else printPreview(output, found, app, limit !== undefined);
    return codeOf(found);
  } finally {
    bar.stop();
    stop.release();
  }
}

function codeOf({ orders, customers, ineligible, unknownKeys, causes, holds, stopped }: Preview): number {
  if (unknownKeys.length > 0) {
    writeError(
      `waybill: no row of orders.query has the key ${unknownKeys.join(', ')}. A key is the ERP’s primary key, not the number that people know.`,
    );
    return exitCode.failed;
  }
  const waits = orders.parked + customers.parked + ineligible.length + causes.length + holds.length;
  return stopped || waits > 0 ? exitCode.waitsForPerson : exitCode.done;
}

function printPreview(
  output: Output,
  found: Preview,
  { settings, isStoreAbsent }: CommandApp,
  isPartial: boolean,
): void {
  for (const { sourceKey, row, unmet } of found.ineligible)
    output.lines(
      `Order ${sourceKey} may not be sent:`,
      ...unmet.map(({ setting, demand }) => `  ${setting} leaves it out: ${demand}`),
      '  Its row:',
      ...rowInWords(row).map((line) => `    ${line}`),
      '',
    );
  if (found.funnel) printCounts(output, found, settings, isPartial);
  printCauses(output, found);
  output.lines(
    ...found.holds.map((hold) => `Would be held: ${tell(hold)}`),
    found.stopped && `Stopped: ${output.tell(found.stopped)}`,
    isStoreAbsent && 'There is no store yet, so everything counts as new.',
    'Nothing was stored or sent.',
  );
}

function printCounts(output: Output, found: Preview, settings: Settings, isPartial: boolean): void {
  const { funnel, orders, customers, removed } = found;
  const rows: (string | number)[][] = [];
  let before = 0;
  const step = (name: string, left: number, taken = left - before) => {
    rows.push([name, left, taken === 0 ? '' : taken]);
    before = left;
  };
  step(`rows of ${funnel?.query}`, funnel?.rows ?? 0, 0);
  for (const { setting, demand, left } of funnel?.steps ?? []) step(`${setting}: ${shorten(demand, 60)}`, left);
  // A pass that stopped, or an ERP that changed meanwhile: no condition has taken these.
  const rowsRead = orders.read + orders.repeatedRows;
  if (isPartial || rowsRead !== before) step('of these read', rowsRead, 0);
  if (orders.repeatedRows > 0) step('one row for each key', orders.read);
  step('with lines', orders.read - orders.withoutLines);
  step('could be sent', orders.create + orders.update + orders.unchanged);
  output.table(['orders', 'left', 'taken'], rows, { rightColumn: 1 });
  output.lines(
    `Orders: ${orders.create} to create, ${orders.update} to update, ${orders.unchanged} unchanged, ${orders.parked} that can not be sent.`,
    `Customers: ${customers.create} to create, ${customers.update} to update, ${customers.parked} that can not be sent.`,
    removed.orders + removed.customers > 0 &&
      `To remove at the service, cancelled or deleted in the ERP: ${removed.orders} orders, ${removed.customers} customers.`,
    found.skippedLines > 0 && `Lines that are texts, which orders.lines.text leaves out: ${found.skippedLines}.`,
    orders.waiting > 0 && `Orders that would wait for their lines first (orders.settleSeconds): ${orders.waiting}.`,
  );
  printTotals(output, found, settings);
}

/** Money totals of what could be sent, beside the ERP's own. */
export function printTotals(output: Output, { totals }: Preview, { amounts }: Settings): void {
  for (const { currency, orders, amount, compared } of totals)
    output.lines(
      `Total: ${amountWithCurrency(amounts, amount, currency)} in the orders that could be sent (${orders}).`,
      compared.orders > 0 &&
        `  Beside orders.total, as far as both are known (${compared.orders}): lines ${amountWithCurrency(amounts, compared.lines, currency)}, ERP ${amountWithCurrency(amounts, compared.erp, currency)}, ` +
          (compared.differing > 0 ? `different in ${compared.differing}.` : 'the same in each.'),
      compared.orders === 0 &&
        orders > 0 &&
        '  Nothing checks these amounts: no order has a total of the ERP (orders.total).',
    );
}

/** The causes that keep records back, each with its remedy. */
export function printCauses(output: Output, { causes, otherCauses }: Preview): void {
  if (causes.length > 0) output.lines('', 'What keeps records back:');
  for (const { entity, records, cause, keys, remedies } of causes)
    output.lines(
      `  ${records} ${records === 1 ? entity : `${entity}s`} (${keys.join(', ')}${records > keys.length ? ', …' : ''}): ${shorten(tellWhole(cause), 300)}`,
      ...remedies.map((remedy) => `      ${remedy}`),
    );
  output.lines(otherCauses > 0 && `  … and ${otherCauses} for other reasons`, causes.length > 0 && '');
}

/** An order in full: its row, its lines, its exact body, and its customer. */
export function orderInWords(order: ShownOrder, output: Output, { amounts }: Settings): string {
  const { key, number, waits, lines, skippedLines, totals, currency, customer } = order;
  const format = (minor: string) => amountWithCurrency(amounts, minor, currency);
  const name = number === null ? `Order ${key}` : `Order ${number} (key ${key} in the ERP)`;
  const texts = [
    ...recordInWords(name, order),
    ...lines.flatMap((line, at) => [`  line ${at + 1}`, ...rowInWords(line).map((one) => `    ${one}`)]),
    ...(skippedLines > 0 ? [`  ${skippedLines} of the lines are texts and left out (orders.lines.text).`] : []),
    ...(totals ? [`  Total: lines ${format(totals.lines)}, ERP ${format(totals.header)}`] : []),
    ...(waits ? [`  First it waits: ${tell(waits)}`] : []),
    ...bodyInWords(order),
    ...(customer ? [...recordInWords(`  Its customer ${customer.key}`, customer), ...bodyInWords(customer)] : []),
    '',
  ];
  return texts.map((text) => `${output.clean(text)}\n`).join('');
}

function recordInWords(name: string, { outcome, parked, row }: ShownRecord): string[] {
  const what = {
    create: 'to create',
    update: 'to update',
    unchanged: 'unchanged',
    parked: `can not be sent: ${parked === null ? '' : tellWhole(parked)}`,
  };
  return [`${name}: ${what[outcome]}`, ...rowInWords(row).map((line) => `    ${line}`)];
}

function bodyInWords({ method, body, idempotencyKey, outcome }: ShownRecord): string[] {
  if (body === null) return [];
  const sent =
    method === null || outcome === 'parked' ? 'As JSON' : `${method}${idempotencyKey ? `, key ${idempotencyKey}` : ''}`;
  return [`  ${sent}:`, `    ${body}`];
}

function rowInWords(row: ErpRow): string[] {
  const width = Math.max(0, ...Object.keys(row).map((name) => name.length));
  return Object.entries(row).map(
    ([name, value]) => `${name.padEnd(width)}  ${value === null ? 'NULL' : shorten(legible(value), longestValue)}`,
  );
}

/** A computed decimal may come with dozens of zeros: of more than six decimals, those behind the cents are left out. */
const legible = (value: string) => (/^-?\d+\.\d{7,}$/.test(value) ? value.replace(/(\.\d\d\d*?)0+$/, '$1') : value);
