import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { type App, openApp } from '../app.js';
import { listInvoices } from '../inbound/invoices/list-invoices.js';
import type { Sandbox } from '../lab/sandbox/start-sandbox.js';
import { listMessages } from '../operator/list-messages.js';
import { type SyncResult, sync } from '../operator/sync.js';
import { exitCode, jsonCommand, positiveInteger, UsageError } from './command.js';
import { type DemoOptions, demoLab } from './demo-lab.js';
import { Output } from './terminal/output.js';
import { progressBar } from './terminal/progress-bar.js';
import { stopSignal } from './terminal/stop-signal.js';
import { writeError } from './terminal/streams.js';

export function demoCommand(): Command {
  return jsonCommand(
    'demo',
    'Run everything once on made-up data: an ERP in a file, a sandbox service, orders out, invoices back.',
    'waybill demo --orders 500 --json',
  )
    .option('--orders <n>', 'orders in the ERP', positiveInteger, 200)
    .option('--customers <n>', 'customers who ordered', positiveInteger, 25)
    .option('--limit <n>', 'requests per second that the service allows', positiveInteger, 50)
    .option('--desk', 'go on, with new orders and incidents, and serve the desk until Ctrl-C')
    .action(async (options: DemoOptions) => {
      const folder = await mkdtemp(join(tmpdir(), 'waybill-demo-')).catch((error: Error) => {
        throw new UsageError(
          `The demo can make no folder in ${tmpdir()}: ${error.message}. Name one that you may write to: TMPDIR=/tmp`,
        );
      });
      // A second Ctrl-C ends the process at once, and a thread may be about to create a file in a folder that was just emptied.
      const remove = () => rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 20 });
      process.once('exit', remove);
      const stop = stopSignal(() => writeError('waybill: stopping: what is under way ends first.'));
      try {
        if (options.desk) await (await import('./demo-desk.js')).runDeskDemo(folder, options, stop.signal);
        else process.exitCode = await runDemo(folder, options, stop.signal);
      } finally {
        stop.release();
        remove();
      }
    });
}

async function runDemo(folder: string, options: DemoOptions, signal: AbortSignal): Promise<number> {
  const output = new Output(options);
  const { customers, orders } = options;
  const { made, sandbox, settings } = await demoLab(folder, options);
  const { eligible, ineligible } = made.orders;
  output.lines(
    `An ERP with ${eligible + ineligible} orders: ${eligible} may be sent, ${ineligible} are drafts, cancelled or too old.`,
    `A service on ${sandbox.url} that allows ${options.limit} requests in any second.`,
    '',
  );

  const app = await openApp({ settings, role: 'demo', log: 'stderr' });
  const bar = progressBar();
  const startedAt = performance.now();
  try {
    const result = await sync(
      app.context,
      { reader: await app.reader(), client: app.client },
      { stages: ['capture', 'deliver', 'pull'], onProgress: bar.show, signal },
    );
    bar.stop();
    if (signal.aborted) return exitCode.failed;
    const summary = summarise(result, sandbox.ledger(), options.limit, (performance.now() - startedAt) / 1000);
    output.json(summary);
    await show(output, app, summary, [
      ['may be sent by the ERP', made.customers.referenced, eligible],
      ['captured in the outbox', summary.captured.customers, summary.captured.orders],
      ['acknowledged by the service', summary.delivered.customers, summary.delivered.orders],
      ['there more than once', 0, summary.duplicatesAtService],
    ]);
    const good =
      summary.delivered.orders === orders &&
      summary.delivered.customers === customers &&
      summary.duplicatesAtService === 0 &&
      result.pull?.outcome === 'proven';
    return good ? exitCode.done : exitCode.failed;
  } finally {
    bar.stop();
    await app.close();
    await sandbox.close();
  }
}

function summarise(
  { capture, deliver, pull }: SyncResult,
  ledger: ReturnType<Sandbox['ledger']>,
  limit: number,
  seconds: number,
) {
  const none = { customers: 0, orders: 0 };
  return {
    captured: capture?.captured ?? none,
    delivered: deliver?.delivered ?? none,
    attempts: deliver?.attempts ?? 0,
    duplicatesAtService: ledger.counts.duplicateReferences,
    throttled: ledger.counts.throttled,
    invoices: { unpaid: pull?.unpaid ?? 0, pages: pull?.pages ?? 0 },
    seconds: Math.round(seconds * 100) / 100,
    rateUtilisation: utilisation(
      ledger.requests.map((request) => request.monotonic_ms),
      limit,
    ),
  };
}

async function show(
  output: Output,
  { store }: App,
  { attempts, seconds, rateUtilisation, throttled, invoices: { unpaid, pages } }: ReturnType<typeof summarise>,
  counts: (string | number)[][],
): Promise<void> {
  const { messages, invoices } = await store.read('read what arrived', async (tx) => ({
    messages: await listMessages(tx, { entity: 'order', states: ['delivered'] }, 1),
    invoices: await listInvoices(tx, 5),
  }));
  output.table(['', 'customers', 'orders'], counts);
  output.lines(
    `${attempts} attempts in ${seconds} s, ${Math.round(rateUtilisation * 100)} % of the allowed rate, ${throttled} answers of "too many".`,
    ...messages.map(({ number, serviceId }) => `Order ${number} of the ERP is order ${serviceId} of the service.`),
    '',
    `Unpaid invoices: ${unpaid}, read from ${pages} pages. The next ones due:`,
  );
  output.table(
    ['invoice', 'customer', 'amount in cents', 'due'],
    invoices.rows.map((row) => [row.invoice_no, row.customer_code, row.amount, row.due_date]),
    { rightColumn: 2 },
  );
  output.lines(
    '',
    'Try next:',
    '  npm run demo -- --desk                   the desk in a browser, with orders and incidents that go on',
    '  npm run demo -- --orders 500 --json      the same with more orders, as JSON',
    '  npm run sandbox -- --port 8080           a service to try your own configuration on',
    '  npm run waybill -- init                  looks at your own ERP, and writes config/local.yaml',
  );
}

/** Requests made, by the most that the sliding window allowed: t seconds have room for ⌊t⌋ + 1 bursts of the limit. */
function utilisation(arrivalsMs: readonly number[], limitPerSecond: number): number {
  if (arrivalsMs.length === 0) return 0;
  const seconds = (Math.max(...arrivalsMs) - Math.min(...arrivalsMs)) / 1000;
  const possible = (Math.floor(seconds) + 1) * limitPerSecond;
  return Math.round((arrivalsMs.length / possible) * 1000) / 1000;
}
