import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import type { CustomerRecord } from '../model/record.js';
import { describeCommand, exitCode, print, printJson, UsageError } from './command.js';
import { positive } from './sync.js';
import { stopSignal } from './terminal/stop-signal.js';

interface SandboxOptions {
  port?: number;
  limit?: number;
  delayMs?: number;
  keyLifetimeHours?: number;
  customers?: string;
  webhookUrl?: string;
  webhookSecretFile?: string;
  invoiceChanges?: number;
  json?: boolean;
}

export function sandboxCommand(): Command {
  const command = describeCommand({
    name: 'sandbox',
    summary:
      'Run a strict stand-in for the service on 127.0.0.1, for trying things out. It forgets everything when it stops.',
    example: 'waybill sandbox --port 8080 --limit 50',
    json: true,
  });
  return command
    .option('--port <n>', 'port on 127.0.0.1', positive, 8080)
    .option('--limit <n>', 'answer 429 to more requests than this in any second', positive)
    .option('--delay-ms <n>', 'answer after 0 to n milliseconds', positive)
    .option('--key-lifetime-hours <n>', 'forget idempotency keys after this time', positive)
    .option('--invoice-changes <n>', 'pay, add or move so many invoices before each page of them', positive)
    .option('--customers <file>', 'hold these customers from the start, made by somebody else: a JSON array of records')
    .option('--webhook-url <url>', 'send webhooks to this address: payment.succeeded and order.status_changed')
    .option('--webhook-secret-file <file>', 'file with the secret that signs them (Standard Webhooks)')
    .action(async (options: SandboxOptions) => {
      // Only this command and the demo need it; the others start faster without.
      const { startSandbox } = await import('../lab/sandbox/start-sandbox.js');
      const stop = stopSignal();
      const sandbox = await startSandbox({
        ...(options.port === undefined ? {} : { port: options.port }),
        ...(options.limit === undefined ? {} : { limits: [{ requests: options.limit, windowMs: 1000 }] }),
        ...(options.delayMs === undefined ? {} : { delayMs: [0, options.delayMs] }),
        ...(options.keyLifetimeHours === undefined ? {} : { keyLifetimeMs: options.keyLifetimeHours * 3_600_000 }),
        ...(options.invoiceChanges === undefined ? {} : { invoiceChanges: options.invoiceChanges }),
        ...webhooksOf(options),
        ...(options.customers === undefined ? {} : { customers: readCustomers(options.customers) }),
      });
      if (options.json) printJson({ url: sandbox.url, token: 'sandbox-token' });
      else
        print(
          `The sandbox listens on ${sandbox.url}; its token is sandbox-token. What it got: ${sandbox.url}/_ledger\nStop it with Ctrl-C.`,
        );
      if (!stop.signal.aborted) await once(stop.signal, 'abort');
      stop.release();
      await sandbox.close();
      process.exitCode = exitCode.done;
    });
}

function webhooksOf({ webhookUrl: url, webhookSecretFile: file }: SandboxOptions): {
  webhooks?: { url: string; secret: string };
} {
  if (url === undefined && file === undefined) return {};
  if (url === undefined || file === undefined)
    throw new UsageError('Give --webhook-url and --webhook-secret-file together.');
  try {
    return { webhooks: { url, secret: readFileSync(file, 'utf8').trim() } };
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
  if (!Array.isArray(customers)) throw wrong('no array');
  const odd = customers.findIndex((one) => typeof one?.customer_code !== 'string' || one.customer_code === '');
  if (odd >= 0) throw wrong(`record ${odd + 1} has no customer_code`);
  return customers;
}
