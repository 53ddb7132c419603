import { Argument, type Command } from 'commander';
import { planUpdates } from '../operator/confirm-held.js';
import { sync } from '../operator/sync.js';
import {
  type CommonOptions,
  collect,
  describeCommand,
  exitCode,
  print,
  printJson,
  UsageError,
  withApp,
} from './command.js';
import { reportSync } from './sync-outcome.js';
import { parseTime } from './terminal/format.js';
import { progressBar } from './terminal/progress-bar.js';
import { stopSignal } from './terminal/stop-signal.js';

interface ResyncOptions extends CommonOptions {
  key?: string[];
  from?: string;
  to?: string;
  dryRun?: boolean;
  force?: boolean;
  plan?: boolean;
}

export function resyncCommand(): Command {
  return describeCommand({
    name: 'resync',
    summary: 'Read records of the ERP again and send what differs; with --force also what does not.',
    example: 'waybill resync orders --from 2026-11-01 --to 2026-11-08 --dry-run',
    json: true,
  })
    .addArgument(new Argument('<entity>', 'what to read').choices(['customers', 'orders']))
    .option('--key <key>', 'only this key of the ERP (may be repeated)', collect)
    .option('--from <date>', 'dated from here on (included): the column of startFrom, else changedAt')
    .option('--to <date>', 'dated before this day or time, in erp.timeZone')
    .option('--dry-run', 'say what would be sent, write and send nothing')
    .option('--plan', 'count by field what would be updated (after a change of the mapping), and do nothing')
    .option('--force', 'send unchanged records again with their old key and bytes, while the service remembers them')
    .action(async (plural: 'customers' | 'orders', options: ResyncOptions) => {
      const entity = plural === 'orders' ? 'order' : 'customer';
      const stop = stopSignal();
      const bar = progressBar();
      try {
        await withApp('resync', options, async (app) => {
          checkRange(options, app.settings.erp.timeZone);
          await app.reader().check();
          if (options.plan) return reportPlan(await planUpdates(app.context, app.reader(), entity), plural, options);
          const result = await sync(
            app.context,
            { reader: app.reader(), client: app.client, writer: app.writer },
            {
              stages: ['capture', 'deliver'],
              filter: {
                entity,
                ...(options.key ? { keys: options.key } : {}),
                ...(options.from ? { from: options.from } : {}),
                ...(options.to ? { to: options.to } : {}),
              },
              dryRun: options.dryRun ?? false,
              force: options.force ?? false,
              signal: stop.signal,
              onProgress: ({ stage, done, total }) => bar.show(stage, done, total),
            },
          );
          bar.stop();
          return reportSync(app, result, options);
        });
      } finally {
        bar.stop();
        stop.release();
      }
    });
}

/** @throws UsageError for what is no date, and for a range that holds nothing */
function checkRange({ from, to }: ResyncOptions, timeZone: string): void {
  const start = from === undefined ? null : parseTime('--from', from, timeZone);
  const end = to === undefined ? null : parseTime('--to', to, timeZone);
  if (start !== null && end !== null && start >= end)
    throw new UsageError(`--from ${from} is not before --to ${to}; the range is half-open, --to is not included.`);
}

async function reportPlan(
  plan: Awaited<ReturnType<typeof planUpdates>>,
  plural: string,
  { json }: ResyncOptions,
): Promise<number> {
  if (json) printJson(plan);
  else {
    print(`Would update ${plan.updates} ${plural} and create ${plan.creates}. By field that changes:`);
    for (const { field, count } of plan.fields) print(`  ${field}: ${count}`);
    print(
      'Nothing was sent. A change of the mapping is held: `waybill confirm` sends it, or adopts it without sending.',
    );
  }
  return exitCode.done;
}
