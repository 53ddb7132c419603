import { Argument, type Command } from 'commander';
import { findRecords } from '../operator/find-records.js';
import { type CustomerTraces, customerTraces, forgetCustomer, whyNotForget } from '../operator/forget-customer.js';
import { type CommandApp, confirm, exitCode, inApp, jsonCommand, UsageError } from './command.js';
import type { Output } from './terminal/output.js';

export function forgetCommand(): Command {
  return jsonCommand(
    'forget',
    'Erase personal data of a customer: bodies, answers, reasons. Key, id and hashes stay.',
    'waybill forget customer 4711 --reason "request of 3 November" --yes',
  )
    .addArgument(new Argument('<entity>', 'what it is').choices(['customer']))
    .argument('<key>', 'its key in the ERP')
    .requiredOption('--reason <text>', 'why, for the audit; do not write a name into it')
    .option('--yes', 'do not ask')
    .action(inApp(forget));
}

async function forget(
  { store, context, output }: CommandApp,
  { reason, yes }: { reason: string; yes?: boolean },
  _entity: string,
  given: string,
): Promise<number> {
  const found = await store.read('look for the customer', (tx) => findRecords(tx, 'customer', given));
  if (found.length > 1)
    throw new UsageError(
      `${given} names ${found.length} customers: ${found.map((one) => one.sourceKey).join(', ')}. Name one by its key in the ERP.`,
    );
  const key = found[0]?.sourceKey ?? given;
  const refuse = (problem: string) => {
    output.json({ forgotten: false, key, problem });
    output.line(`Waybill cannot forget customer ${key}: ${problem}.`);
    return exitCode.failed;
  };
  const traces = await store.read('look at what is kept', (tx) => customerTraces(tx, key));
  const problem = whyNotForget(traces);
  if (problem) return refuse(problem);
  describeTraces(output, key, traces);
  if (!(await confirm('Erase this for good?', yes))) return exitCode.failed;

  const result = await forgetCustomer(context, key, reason);
  if (typeof result === 'string') return refuse(result);
  output.json({ forgotten: true, key, ...result, orderBodies: traces.orderBodies });
  output.line(
    `Forgotten: ${result.bodies} bodies, ${result.excerpts} answers of ${result.messages} messages, ${result.webhooks} bodies of webhooks.`,
  );
  output.line('While its row is in the ERP, Waybill captures a change there and sends it whole.');
  output.line('Backups of the store, and the service itself, still hold the data.');
  return exitCode.done;
}

function describeTraces(output: Output, key: string, { bodies, excerpts, orderBodies }: CustomerTraces): void {
  output.line(`Customer ${key}: ${bodies} bodies, ${excerpts} answers of the service, and what it last acknowledged.`);
  output.line('Its key, its id at the service and the hashes stay, so that nothing is sent twice.');
  if (orderBodies > 0)
    output.line(
      `${orderBodies} bodies of its orders stay until retention prunes them. They name the customer by its code alone, unless the mapping adds more.`,
    );
}
