import { type Command, Option } from 'commander';
import { lastPullInWords } from '../daemon/status-lines.js';
import {
  type InvoiceSheet,
  type ListedInvoice,
  listInvoices,
  listLeftInvoices,
  listMalformedInvoices,
} from '../inbound/invoices/list-invoices.js';
import { lastPull } from '../inbound/invoices/pull-record.js';
import { amountFormatter } from '../operator/format.js';
import { customerSources } from '../operator/lists/browse-invoices.js';
import { type CommandApp, inApp, jsonCommand, limitOption } from './command.js';

export function invoicesCommand(): Command {
  return jsonCommand(
    'invoices',
    'List the unpaid invoices of the last pull, the ones due first at the top.',
    'waybill invoices --limit 20',
  )
    .addOption(limitOption('how many are shown', 50))
    .option('--left', 'instead, the invoices that are no longer listed, the last to leave first')
    .addOption(
      new Option('--malformed', 'instead, the invoices of the list of the service that are invalid').conflicts('left'),
    )
    .action(
      inApp(
        (app, { left, malformed, limit }: { left?: boolean; malformed?: boolean; limit: number }) => {
          if (left) return showLeft(app, limit);
          return malformed ? showMalformed(app, limit) : showListed(app, limit);
        },
        { needsStore: true },
      ),
    );
}

const amountColumn = { rightColumn: 2 };

async function showListed({ store, settings, output }: CommandApp, limit: number): Promise<void> {
  const { list, pull, sources } = await store.read('read the invoices', async (tx) => {
    const list = await listInvoices(tx, limit);
    const codes = [...list.rows, ...list.creditNotes.rows].map((row) => row.customer_code);
    return { list, pull: await lastPull(tx), sources: settings.named && (await customerSources(tx, codes)) };
  });
  const sourceOf = ({ customer_code: code }: ListedInvoice) => sources?.get(code ?? '') ?? null;
  const withSource = (rows: readonly ListedInvoice[]) =>
    sources ? rows.map((row) => ({ ...row, source: sourceOf(row) })) : rows;
  const { currency } = settings.amounts;
  const { rows: invoices, count, sum, creditNotes } = list;
  output.json({
    count,
    sum,
    currency,
    creditNotes: { count: creditNotes.count, sum: creditNotes.sum, invoices: withSource(creditNotes.rows) },
    isProven: pull?.isProven ?? false,
    lastPull: pull,
    invoices: withSource(invoices),
  });
  const amount = amountFormatter(settings.amounts);
  const show = (sheet: InvoiceSheet, what: string) => {
    output.table(
      ['invoice', 'customer', `amount (${currency})`, 'due', 'status', ...(sources ? ['source'] : [])],
      sheet.rows.map((row) => [
        ...[row.invoice_no, row.customer_code, amount(row.amount), row.due_date, row.status],
        ...(sources ? [sourceOf(row)] : []),
      ]),
      amountColumn,
    );
    const shown = sheet.count > sheet.rows.length ? `; ${sheet.rows.length} shown` : '';
    output.line(`${sheet.count} ${what}, ${amount(sheet.sum)} ${currency} in all${shown}.`);
  };
  show(list, 'invoices');
  if (creditNotes.count > 0) show(creditNotes, 'credit notes, not part of the sum above');
  output.line(pull ? lastPullInWords(pull, output.time) : 'No pull has run yet: waybill sync pull');
}

async function showLeft({ store, settings, output }: CommandApp, limit: number): Promise<void> {
  const left = await store.read('read what has left', (tx) => listLeftInvoices(tx, limit));
  const { currency } = settings.amounts;
  output.json({ currency, invoices: left });
  const amount = amountFormatter(settings.amounts);
  output.table(
    ['invoice', 'customer', `amount (${currency})`, 'no longer listed since', 'the service says'],
    left.map((row) => [
      row.invoice_no,
      row.customer_code,
      amount(row.amount),
      output.time(row.unlisted_at),
      row.left_status ?? 'nothing: no longer listed',
    ]),
    amountColumn,
  );
}

async function showMalformed({ store, output }: CommandApp, limit: number): Promise<void> {
  const malformed = await store.read('read what makes no sense', (tx) => listMalformedInvoices(tx, limit));
  output.json({ invoices: malformed });
  output.table(
    ['invoice', 'what is wrong', 'since'],
    malformed.map((row) => [row.invoice_no ?? '(no number)', output.tell(row.reason), output.time(row.since_at)]),
  );
}
