import { Argument, type Command } from 'commander';
import { planUpdates } from '../operator/confirm-held.js';
import { type SyncOptions, type SyncStage, sync } from '../operator/sync.js';
import {
  type CommandApp,
  defined,
  describeCommand,
  entityOf,
  exitCode,
  inApp,
  limitOption,
  type Plural,
  parseRange,
  pluralArgument,
  repeatable,
  UsageError,
} from './command.js';
import { reportSync } from './sync-outcome.js';
import { progressBar } from './terminal/progress-bar.js';
import { stopSignal } from './terminal/stop-signal.js';

interface SyncCommandOptions {
  dryRun?: boolean;
  limit?: number;
  key?: string[];
  trial?: boolean;
}

export function syncCommand(): Command {
  return describeCommand({
    name: 'sync',
    summary: 'Run once, now: read the ERP, deliver what is due, pull unpaid invoices.',
    example: 'waybill sync --limit 5',
    json: true,
  })
    .addArgument(
      new Argument('[stage]', 'only this stage; without it all three').choices(['capture', 'deliver', 'pull']),
    )
    .option('--dry-run', 'read and decide; write and send nothing')
    .addOption(limitOption('send at most n new or changed orders, and their customers'))
    .addOption(repeatable('--key <key>', 'send only the order with this key of the ERP, and its customer'))
    .option('--trial', 'send these few to a production service before go-live; with --limit or --key')
    .action(
      inApp(syncOnce, {
        check: ({ trial, limit, key }: SyncCommandOptions) => {
          if (trial && limit === undefined && !key)
            throw new UsageError('--trial sends only a few records: add --limit 5 or --key.');
        },
      }),
    );
}

async function syncOnce(app: CommandApp, options: SyncCommandOptions, stage: SyncStage | undefined): Promise<number> {
  const { key: keys, limit, trial = false } = options;
  if (!stage || stage === 'capture') await app.reader().check();
  return syncAndReport(app, options, {
    stages: stage ? [stage] : ['capture', 'deliver', 'pull'],
    ...defined({ limit, filter: keys && { entity: 'order' as const, keys } }),
    trial,
  });
}

interface ResyncOptions {
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
    summary: 'Read records of the ERP again and send those that differ; with --force also the unchanged ones.',
    example: 'waybill resync orders --from 2026-11-01 --to 2026-11-08 --dry-run',
    json: true,
  })
    .addArgument(pluralArgument('<entity>', 'what to read'))
    .addOption(repeatable('--key <key>', 'only this key of the ERP'))
    .option('--from <date>', 'dated from here on (included), by the column of startFrom, else by changedAt')
    .option('--to <date>', 'dated before this day or time, in erp.timeZone')
    .option('--dry-run', 'say what would be sent; write and send nothing')
    .option('--plan', 'count by field what would be updated (after a change of the mapping), and do nothing')
    .option('--force', 'send unchanged records again with their old key and bytes, while the service remembers them')
    .action(inApp(resync));
}

async function resync(app: CommandApp, options: ResyncOptions, plural: Plural): Promise<number> {
  const { key: keys, from, to, plan, force = false } = options;
  const entity = entityOf(plural);
  parseRange('from', 'to', options, app.settings.erp.timeZone);
  await app.reader().check();
  if (plan) return showPlan(app, plural);
  return syncAndReport(app, options, {
    stages: ['capture', 'deliver'],
    filter: { entity, ...defined({ keys, from, to }) },
    force,
  });
}

async function showPlan(app: CommandApp, plural: Plural): Promise<number> {
  const { context, output } = app;
  const plan = await planUpdates(context, app.reader(), entityOf(plural));
  output.json(plan);
  output.line(`Would update ${plan.updates} ${plural} and create ${plan.creates}. By field that changes:`);
  for (const { field, count } of plan.fields) output.line(`  ${field}: ${count}`);
  output.line('Nothing was sent. Waybill holds a change of the mapping until `waybill confirm` sends or adopts it.');
  return exitCode.done;
}

/** Syncs with a progress bar, until it is done or a signal stops it, and prints what came of it. */
async function syncAndReport(
  app: CommandApp,
  options: SyncCommandOptions | ResyncOptions,
  request: Omit<SyncOptions, 'dryRun' | 'signal' | 'onProgress'>,
): Promise<number> {
  const stop = stopSignal();
  const bar = progressBar();
  try {
    const partners = { reader: app.reader(), client: app.client, writer: app.writer };
    const { signal } = stop;
    const dryRun = options.dryRun ?? false;
    const result = await sync(app.context, partners, { ...request, dryRun, signal, onProgress: bar.show });
    bar.stop();
    return reportSync(app, result, { dryRun, keys: options.key });
  } finally {
    bar.stop();
    stop.release();
  }
}
