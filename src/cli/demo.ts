import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Table from 'cli-table3';
import type { Command } from 'commander';
import { openApp } from '../app.js';
import { settingsFrom } from '../config/load-settings.js';
import { listInvoices } from '../inbound/invoices/list-invoices.js';
import { sync } from '../operator/sync.js';
import { describeCommand, exitCode, print, printJson } from './command.js';
import { positive } from './sync.js';
import { progressBar } from './terminal/progress-bar.js';

interface DemoOptions {
  orders: number;
  customers: number;
  limit: number;
  json?: boolean;
}

export function demoCommand(): Command {
  return describeCommand({
    name: 'demo',
    summary: 'The whole way once, on made-up data: an ERP in a file, a sandbox service, orders out, invoices back.',
    example: 'waybill demo --orders 500 --json',
    json: true,
  })
    .option('--orders <n>', 'orders in the ERP', positive, 200)
    .option('--customers <n>', 'customers who ordered', positive, 25)
    .option('--limit <n>', 'requests a second that the service allows', positive, 50)
    .action(async (options: DemoOptions) => {
      const folder = await mkdtemp(join(tmpdir(), 'waybill-demo-'));
      try {
        process.exitCode = await runDemo(folder, options);
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    });
}

async function runDemo(folder: string, options: DemoOptions): Promise<number> {
  const { startSandbox } = await import('../lab/sandbox/start-sandbox.js');
  const { createSampleErp } = await import('../lab/sample-erp/create-sample-erp.js');
  const { sampleErpMapping } = await import('../lab/sample-erp/sample-erp-mapping.js');
  const words = options.json ? () => undefined : print;

  const erpFile = join(folder, 'erp.sqlite');
  const made = await createSampleErp({
    target: { type: 'sqlite', file: erpFile },
    customers: options.customers,
    orders: options.orders,
  });
  const sandbox = await startSandbox({
    limits: [{ requests: options.limit, windowMs: 1000 }],
    delayMs: [0, 20],
    seed: 1,
  });
  const settings = settingsFrom({
    ...sampleErpMapping,
    installation: 'waybill-demo',
    erp: { ...sampleErpMapping.erp, type: 'sqlite', file: erpFile },
    store: { type: 'sqlite', file: join(folder, 'waybill.sqlite') },
    service: {
      environment: 'sandbox',
      baseUrl: sandbox.url,
      token: 'sandbox-token',
      limits: [{ requests: options.limit, perSeconds: 1 }],
    },
    log: { level: 'error' },
  });
  words(
    `An ERP with ${made.orders.eligible + made.orders.ineligible} orders: ${made.orders.eligible} may be sent, ${made.orders.ineligible} are drafts, cancelled or too old.`,
  );
  words(`A service on ${sandbox.url} that allows ${options.limit} requests in any second.`);
  words();

  const app = await openApp({ settings, role: 'demo', log: 'stderr' });
  const bar = progressBar();
  const startedAt = performance.now();
  try {
    const result = await sync(
      app.context,
      { reader: app.reader(), client: app.client },
      { stages: ['capture', 'deliver', 'pull'], onProgress: ({ stage, done, total }) => bar.show(stage, done, total) },
    );
    bar.stop();
    const seconds = (performance.now() - startedAt) / 1000;
    const ledger = sandbox.ledger();
    const { capture, deliver, pull } = result;
    const summary = {
      captured: capture?.captured ?? { customers: 0, orders: 0 },
      delivered: deliver?.delivered ?? { customers: 0, orders: 0 },
      attempts: deliver?.attempts ?? 0,
      duplicatesAtService: ledger.counts.duplicateReferences,
      throttled: ledger.counts.throttled,
      invoices: { unpaid: pull?.unpaid ?? 0, pages: pull?.pages ?? 0 },
      seconds: Math.round(seconds * 100) / 100,
      rateUtilisation: utilisation(
        ledger.requests.map((request) => request.monotonic_ms),
        options.limit,
      ),
    };
    const good =
      summary.delivered.orders === options.orders &&
      summary.delivered.customers === options.customers &&
      summary.duplicatesAtService === 0 &&
      pull?.outcome === 'proven';
    if (options.json) printJson(summary);
    else {
      const [first] = await app.store.read('read an order', (tx) =>
        tx.select<{ number: string; service_id: string }>(
          "SELECT number, service_id FROM outbox_message WHERE entity='order' ORDER BY id LIMIT 1",
        ),
      );
      const invoices = await app.store.read('read the invoices', (tx) => listInvoices(tx, 5));
      const table = new Table({ head: ['', 'customers', 'orders'], style: { head: [], border: [] } });
      table.push(
        ['may be sent by the ERP', made.customers.referenced, made.orders.eligible],
        ['captured in the outbox', summary.captured.customers, summary.captured.orders],
        ['acknowledged by the service', summary.delivered.customers, summary.delivered.orders],
        ['there more than once', 0, summary.duplicatesAtService],
      );
      print(table.toString());
      print(
        `${summary.attempts} attempts in ${summary.seconds} s, ${Math.round(summary.rateUtilisation * 100)} % of the allowed rate, ` +
          `${summary.throttled} answers of "too many".`,
      );
      if (first) print(`Order ${first.number} of the ERP is order ${first.service_id} of the service.`);
      print();
      print(
        `Unpaid invoices: ${summary.invoices.unpaid}, read from ${summary.invoices.pages} pages. The next ones due:`,
      );
      const due = new Table({
        head: ['invoice', 'customer', 'amount in cents', 'due'],
        style: { head: [], border: [] },
        colAligns: ['left', 'left', 'right', 'left'],
      });
      for (const row of invoices.rows) due.push([row.invoice_no, row.customer_code ?? '', row.amount, row.due_date]);
      print(due.toString());
      print();
      print('Try next:');
      print('  npm run demo -- --orders 500 --json      the same with more orders, as JSON');
      print('  npm run sandbox -- --port 8080           a service to try your own configuration on');
      print('  cp config/example/local.yaml config/     then name your own ERP in config/local.yaml (README)');
    }
    return good ? exitCode.done : exitCode.failed;
  } finally {
    bar.stop();
    await app.close();
    await sandbox.close();
  }
}

/** Requests made, by the most that the sliding window allowed: in t seconds it has room for ⌊t⌋ + 1 bursts of the limit. */
function utilisation(arrivalsMs: readonly number[], limitPerSecond: number): number {
  if (arrivalsMs.length === 0) return 0;
  const seconds = (Math.max(...arrivalsMs) - Math.min(...arrivalsMs)) / 1000;
  const possible = (Math.floor(seconds) + 1) * limitPerSecond;
  return Math.round((arrivalsMs.length / possible) * 1000) / 1000;
}
