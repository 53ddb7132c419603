import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import type { CustomerRecord } from '../model/record.js';
import { defined, exitCode, jsonCommand, positiveInteger, UsageError } from './command.js';
import { Output } from './terminal/output.js';
import { stopSignal } from './terminal/stop-signal.js';

interface SandboxOptions {
  port: number;
  limit?: number;
  delayMs?: number;
  keyLifetimeHours: number;
  customers?: string;
  webhookUrl?: string;
  webhookSecretFile?: string;
  invoiceChanges?: number;
  json?: boolean;
}

export function sandboxCommand(): Command {
  return jsonCommand(
    'sandbox',
    'Run a strict stand-in for the service on 127.0.0.1, to try things out. It keeps nothing when it stops.',
    'waybill sandbox --port 8080 --limit 50',
  )
    .option('--port <n>', 'port on 127.0.0.1', positiveInteger, 8080)
    .option('--limit <n>', 'answer 429 to more requests than this in any second', positiveInteger)
    .option('--delay-ms <n>', 'answer after 0 to n milliseconds', positiveInteger)
    .option('--key-lifetime-hours <n>', 'forget idempotency keys after this time', positiveInteger, 24)
    .option('--invoice-changes <n>', 'pay, add or move n invoices before each page of them', positiveInteger)
    .option('--customers <file>', 'start with these customers of somebody else: a JSON array of records')
    .option('--webhook-url <url>', 'send webhooks to this address: payment.succeeded and order.status_changed')
    .option('--webhook-secret-file <file>', 'file with the secret that signs them (Standard Webhooks)')
    .action(runSandbox);
}

async function runSandbox(options: SandboxOptions): Promise<void> {
  const { port, limit, delayMs, keyLifetimeHours, invoiceChanges, customers } = options;
  // Only this command and the demo need it; the others start faster without.
  const { startSandbox } = await import('../lab/sandbox/start-sandbox.js');
  const sandbox = await startSandbox({
    port,
    keyLifetimeMs: keyLifetimeHours * 3_600_000,
    ...defined({
      limits: limit === undefined ? undefined : [{ requests: limit, windowMs: 1000 }],
      delayMs: delayMs === undefined ? undefined : ([0, delayMs] as const),
      invoiceChanges,
      webhooks: webhooksOf(options),
      customers: customers === undefined ? undefined : readCustomers(customers),
    }),
  }).catch((error: NodeJS.ErrnoException) => {
    if (!/^(EADDRINUSE|EACCES|ERR_SOCKET_BAD_PORT)$/.test(error.code ?? '')) throw error;
    const what = error.code === 'EADDRINUSE' ? 'Another program listens on' : 'This account can not listen on';
    throw new UsageError(`${what} port ${port}. Name another one, such as --port 8081.`);
  });
  const stop = stopSignal();
  const output = new Output(options);
  output.json({ url: sandbox.url, token: 'sandbox-token' });
  output.lines(
    `The sandbox listens on ${sandbox.url}. Its token is sandbox-token. It shows what it got: ${sandbox.url}/_ledger`,
    `It remembers keys for ${keyLifetimeHours} h (service.idempotency.lifetimeHours). Stop it with Ctrl-C.`,
  );
  if (!stop.signal.aborted) await once(stop.signal, 'abort');
  stop.release();
  await sandbox.close();
  process.exitCode = exitCode.done;
}

function webhooksOf({ webhookUrl: url, webhookSecretFile: file }: SandboxOptions) {
  if (url === undefined && file === undefined) return undefined;
  if (url === undefined || file === undefined)
    throw new UsageError('Give --webhook-url and --webhook-secret-file together.');
  try {
    return { url, secret: readFileSync(file, 'utf8').trim() };
  } catch (error) {
    throw new UsageError(`--webhook-secret-file: ${(error as Error).message}`);
  }
}

function readCustomers(file: string): CustomerRecord[] {
  const wrong = (why: string) =>
    new UsageError(
      `${file}: ${why}. Write a JSON array such as [{"customer_code": "K10001", "name": "Anna Example"}].`,
    );
  let customers: unknown;
  try {
    customers = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw wrong((error as Error).message);
  }
  if (!Array.isArray(customers)) throw wrong('it is not an array');
  const odd = customers.findIndex((one) => typeof one?.customer_code !== 'string' || one.customer_code === '');
  if (odd >= 0) throw wrong(`record ${odd + 1} has no customer_code`);
  return customers;
}
