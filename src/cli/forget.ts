import { Argument, type Command } from 'commander';
import type { App } from '../app.js';
import { appendAudit } from '../audit/audit-log.js';
import { erasePayloads } from '../inbound/webhooks/webhook-rows.js';
import { findRecords } from '../operator/find-records.js';
import {
  type CustomerTraces,
  customerTraces,
  type Forgotten,
  forgetCustomer,
  whyNotForget,
} from '../operator/forget-customer.js';
import { type CommonOptions, describeCommand, exitCode, print, printJson, UsageError, withApp } from './command.js';
import { confirm } from './terminal/confirm.js';

interface ForgetOptions extends CommonOptions {
  reason: string;
  yes?: boolean;
}

export function forgetCommand(): Command {
  return describeCommand({
    name: 'forget',
    summary: 'Erase what is kept of a customer as a person: bodies, answers, reasons. Key, id and hashes stay.',
    example: 'waybill forget customer 4711 --reason "request of 3 November" --yes',
    json: true,
  })
    .addArgument(new Argument('<entity>', 'what it is').choices(['customer']))
    .argument('<key>', 'its key in the ERP')
    .requiredOption('--reason <text>', 'why, for the audit; write no name into it')
    .option('--yes', 'do not ask')
    .action((_entity: string, key: string, options: ForgetOptions) =>
      withApp('forget', options, (app) => forget(app, key, options)),
    );
}

async function forget(app: App, given: string, options: ForgetOptions): Promise<number> {
  const { store, context } = app;
  const found = await store.read('look for the customer', (tx) => findRecords(tx, 'customer', given));
  if (found.length > 1)
    throw new UsageError(
      `${given} names ${found.length} customers: ${found.map((one) => one.sourceKey).join(', ')}. Say which with its key in the ERP.`,
    );
  const key = found[0]?.sourceKey ?? given;
  const traces = await store.read('look at what is kept', (tx) => customerTraces(tx, key));
  const problem = whyNotForget(traces);
  if (problem) {
    if (options.json) printJson({ forgotten: false, key, problem });
    else print(`Customer ${key} can not be forgotten: ${problem}.`);
    return exitCode.failed;
  }
  if (!options.json) describeTraces(key, traces);
  if (!(await confirm(`Erase this for good?`, options.yes))) return exitCode.failed;

  const result = await store.transaction(
    'forget a customer',
    async (tx): Promise<(Forgotten & { webhooks: number }) | string> => {
      // A new message may have come while somebody thought about it.
      const now = await customerTraces(tx, key);
      const changed = whyNotForget(now);
      if (changed) return changed;
      const webhooks = await erasePayloads(tx, key, now.names);
      const forgotten = { ...(await forgetCustomer(tx, key)), webhooks };
      const detail = { reason: options.reason, ...forgotten };
      const entry = { event: 'forget', outcome: 'operator', entity: 'customer', sourceKey: key } as const;
      await appendAudit(tx, [{ ...entry, actor: context.actor, detail }], context.nowMs());
      return forgotten;
    },
  );
  if (typeof result === 'string') {
    if (options.json) printJson({ forgotten: false, key, problem: result });
    else print(`Customer ${key} can not be forgotten: ${result}.`);
    return exitCode.failed;
  }
  // The log of a SQLite file still holds the pages as they were.
  if (store.dialect === 'sqlite')
    await store.read('empty the write-ahead log', (tx) => tx.select('PRAGMA wal_checkpoint(TRUNCATE)'));
  if (options.json) printJson({ forgotten: true, key, ...result, orderBodies: traces.orderBodies });
  else {
    print(
      `Forgotten: ${result.bodies} bodies, ${result.excerpts} answers of ${result.messages} messages, ${result.webhooks} bodies of webhooks.`,
    );
    print('As long as its row is in the ERP, a change there is captured and sent like any other, and whole.');
    print('Backups of the store, and the service itself, are not touched.');
  }
  return exitCode.done;
}

function describeTraces(key: string, { bodies, excerpts, orderBodies }: CustomerTraces): void {
  print(`Customer ${key}: ${bodies} bodies, ${excerpts} answers of the service, and what it last acknowledged.`);
  print('Its key, its id at the service and the hashes stay, so that nothing is sent twice.');
  if (orderBodies > 0)
    print(
      `${orderBodies} bodies of its orders stay until retention prunes them: they name it by its code alone, unless the mapping puts more into them.`,
    );
}
