import Table from 'cli-table3';
import type { Command } from 'commander';
import type { App } from '../app.js';
import { currencyScale } from '../erp/mapping/money.js';
import {
  type InvoiceSheet,
  listInvoices,
  listLeftInvoices,
  listMalformedInvoices,
} from '../inbound/invoices/list-invoices.js';
import { type LastPull, lastPull } from '../inbound/invoices/pull-record.js';
import { type CommonOptions, describeCommand, exitCode, print, printJson, UsageError, withApp } from './command.js';
import { positive } from './sync.js';
import { formatAmount, timeFormatter } from './terminal/format.js';
import { oneLine } from './terminal/output.js';

interface InvoicesOptions extends CommonOptions {
  limit: number;
  left?: boolean;
  malformed?: boolean;
}

export function invoicesCommand(): Command {
  return describeCommand({
    name: 'invoices',
    summary: 'The unpaid invoices as the last pull left them, the ones due first.',
    example: 'waybill invoices --limit 20',
    json: true,
  })
    .option('--limit <n>', 'how many are shown', positive, 50)
    .option('--left', 'those that are no longer listed instead, the last to leave first')
    .option('--malformed', 'those that the service lists and that make no sense instead')
    .action(async (options: InvoicesOptions) => {
      if (options.left && options.malformed) throw new UsageError('--left and --malformed: choose one of them.');
      await withApp('invoices', options, (app) =>
        options.left
          ? showLeft(app, options)
          : options.malformed
            ? showMalformed(app, options)
            : showListed(app, options),
      );
    });
}

async function showListed({ store, settings }: App, options: InvoicesOptions): Promise<number> {
  const { list, pull } = await store.read('read the invoices', async (tx) => ({
    list: await listInvoices(tx, options.limit),
    pull: await lastPull(tx),
  }));
  const { currency } = settings.amounts;
  if (options.json) {
    const { rows: invoices, count, sum, creditNotes } = list;
    printJson({
      count,
      sum,
      currency,
      creditNotes: { count: creditNotes.count, sum: creditNotes.sum, invoices: creditNotes.rows },
      isProven: pull?.isProven ?? false,
      lastPull: pull,
      invoices,
    });
    return exitCode.done;
  }
  const amount = amountFormatter(settings);
  const show = ({ rows, count, sum }: InvoiceSheet, what: string) => {
    const table = newTable(['invoice', 'customer', `amount (${currency})`, 'due', 'status']);
    for (const row of rows)
      table.push([row.invoice_no, row.customer_code ?? '', amount(row.amount), row.due_date, row.status].map(oneLine));
    print(table.toString());
    print(`${count} ${what}, ${amount(sum)} ${currency} in all${count > rows.length ? `; ${rows.length} shown` : ''}.`);
  };
  show(list, 'invoices');
  if (list.creditNotes.count > 0) show(list.creditNotes, 'credit notes, not part of the sum above');
  const time = timeFormatter(settings.erp.timeZone);
  print(pull ? pullInWords(pull, time) : 'Nothing was pulled yet: waybill sync pull');
  return exitCode.done;
}

function pullInWords(pull: LastPull, time: (ms: number) => string): string {
  const reason = pull.reason ? ` (${oneLine(pull.reason)})` : '';
  const malformed = pull.malformed > 0 ? ` ${pull.malformed} make no sense: waybill invoices --malformed.` : '';
  return `Last pull ${time(pull.endedAt ?? pull.startedAt)}: ${pull.outcome}${reason}.${malformed}`;
}

async function showLeft({ store, settings }: App, options: InvoicesOptions): Promise<number> {
  const left = await store.read('read what has left', (tx) => listLeftInvoices(tx, options.limit));
  const { currency } = settings.amounts;
  if (options.json) {
    printJson({ currency, invoices: left });
    return exitCode.done;
  }
  const amount = amountFormatter(settings);
  const time = timeFormatter(settings.erp.timeZone);
  const table = newTable(['invoice', 'customer', `amount (${currency})`, 'no longer listed since', 'the service says']);
  for (const row of left)
    table.push(
      [
        row.invoice_no,
        row.customer_code ?? '',
        amount(row.amount),
        time(row.unlisted_at),
        row.left_status ?? 'nothing: no longer listed',
      ].map(oneLine),
    );
  print(table.toString());
  return exitCode.done;
}

async function showMalformed({ store, settings }: App, options: InvoicesOptions): Promise<number> {
  const malformed = await store.read('read what makes no sense', (tx) => listMalformedInvoices(tx, options.limit));
  if (options.json) {
    printJson({ invoices: malformed });
    return exitCode.done;
  }
  const time = timeFormatter(settings.erp.timeZone);
  const table = newTable(['invoice', 'what is wrong', 'since']);
  for (const row of malformed)
    table.push([row.invoice_no ?? '(no number)', row.reason, time(row.since_at)].map(oneLine));
  print(table.toString());
  return exitCode.done;
}

function newTable(head: string[]): InstanceType<typeof Table> {
  return new Table({ head, style: { head: [], border: [] }, colAligns: ['left', 'left', 'right', 'left', 'left'] });
}

function amountFormatter(settings: App['settings']): (minor: string | number) => string {
  const { currency, scale } = settings.amounts;
  return (minor) => formatAmount(minor, scale ?? currencyScale(currency) ?? 0);
}
