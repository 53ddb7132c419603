import Table from 'cli-table3';
import type { Command } from 'commander';
import { currencyScale } from '../erp/currency-scale.js';
import { listInvoices } from '../invoices/invoice-store.js';
import { lastPull } from '../invoices/last-pull.js';
import { type CommonOptions, describeCommand, print, printJson, withApp } from './command.js';
import { exitCode } from './exit-codes.js';
import { formatAmount } from './format-amount.js';
import { timeFormatter } from './format-time.js';
import { positive } from './sync.js';

export function invoicesCommand(): Command {
  return describeCommand({
    name: 'invoices',
    summary: 'The unpaid invoices as the last pull left them, the ones due first.',
    example: 'waybill invoices --limit 20',
    json: true,
  })
    .option('--limit <n>', 'how many are shown', positive, 50)
    .action(async (options: CommonOptions & { limit: number }) => {
      await withApp('invoices', options, async ({ store, settings }) => {
        const { list, pull } = await store.read('read the invoices', async (tx) => ({
          list: await listInvoices(tx, options.limit),
          pull: await lastPull(tx),
        }));
        if (options.json) {
          printJson({
            count: list.count,
            sum: list.sum,
            currency: settings.amounts.currency,
            lastPull: pull,
            invoices: list.rows,
          });
          return exitCode.done;
        }
        const { currency, scale } = settings.amounts;
        const amount = (minor: string | number) => formatAmount(minor, scale ?? currencyScale(currency) ?? 0);
        const table = new Table({
          head: ['invoice', 'customer', `amount (${currency})`, 'due', 'status'],
          style: { head: [], border: [] },
          colAligns: ['left', 'left', 'right', 'left', 'left'],
        });
        for (const row of list.rows)
          table.push([row.invoice_no, row.customer_code ?? '', amount(row.amount), row.due_date, row.status]);
        print(table.toString());
        print(
          `${list.count} invoices, ${amount(list.sum)} ${currency} in all${list.count > list.rows.length ? `; ${list.rows.length} shown` : ''}.`,
        );
        const time = timeFormatter(settings.erp.timeZone);
        if (!pull) print('Nothing was pulled yet: waybill sync pull');
        else
          print(
            `Last pull ${time(pull.endedAt ?? pull.startedAt)}: ${pull.outcome}${pull.reason ? ` (${pull.reason})` : ''}.`,
          );
        return exitCode.done;
      });
    });
}
