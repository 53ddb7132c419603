import { Argument, type Command } from 'commander';
import { customerTraces, forgetCustomer, whyNotForget } from '../operator/actions/forget-customer.js';
import type { FindBy } from '../operator/find-records.js';
import { type CommandApp, confirm, exitCode, inApp, jsonCommand } from './command.js';
import { byOption, meantBy } from './named-records.js';

export function forgetCommand(): Command {
  return jsonCommand(
    'forget',
    'Erase personal data of a customer: bodies, answers, reasons. Key, id and hashes stay.',
    'waybill forget customer 4711 --reason "request of 3 November" --yes',
  )
    .addArgument(new Argument('<entity>', 'what it is').choices(['customer']))
    .argument('<key>', 'its key in the ERP, or its code')
    .addOption(byOption('KEY'))
    .requiredOption('--reason <text>', 'why, for the audit; do not write a name into it')
    .option('--yes', 'do not ask')
    .action(inApp(forget, { needsStore: true }));
}

async function forget(
  app: CommandApp,
  { reason, yes, by }: { reason: string; yes?: boolean; by?: FindBy },
  _entity: string,
  given: string,
): Promise<number> {
  const { store, context, output } = app;
  const [found] = await meantBy(app, [given], by, 'customer');
  const key = found?.sourceKey ?? given;
  const refuse = (problem: string) => {
    output.json({ forgotten: false, key, problem });
    output.line(`Waybill cannot forget customer ${key}: ${problem}.`);
    return exitCode.failed;
  };
  const traces = await store.read('look at what is kept', (tx) => customerTraces(tx, key));
  const problem = whyNotForget(traces);
  if (problem) return refuse(problem);
  const { bodies, excerpts, orderBodies } = traces;
  output.lines(
    `Customer ${key}: ${bodies} bodies, ${excerpts} answers of the service, and what it last acknowledged.`,
    'Its key, its id at the service and the hashes stay, so that nothing is sent twice.',
    orderBodies > 0 &&
      `${orderBodies} bodies of its orders stay until retention prunes them. They name the customer by its code alone, unless the mapping adds more.`,
  );
  if (!(await confirm('Erase this for good?', yes))) return exitCode.failed;

  const result = await forgetCustomer(context, key, reason);
  if (typeof result === 'string') return refuse(result);
  output.json({ forgotten: true, key, ...result, orderBodies });
  output.lines(
    `Forgotten: ${result.bodies} bodies, ${result.excerpts} answers of ${result.messages} messages.`,
    'While its row is in the ERP, Waybill captures a change there and sends it whole.',
    'Backups of the store, and the service itself, still hold the data.',
  );
  return exitCode.done;
}
