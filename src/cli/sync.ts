import { Argument, type Command, InvalidArgumentError } from 'commander';
import { type SyncStage, sync } from '../operator/sync.js';
import { type CommonOptions, collect, describeCommand, UsageError, withApp } from './command.js';
import { reportSync } from './sync-outcome.js';
import { progressBar } from './terminal/progress-bar.js';
import { stopSignal } from './terminal/stop-signal.js';

interface SyncCommandOptions extends CommonOptions {
  dryRun?: boolean;
  limit?: number;
  key?: string[];
  trial?: boolean;
}

export function syncCommand(): Command {
  return describeCommand({
    name: 'sync',
    summary: 'One pass now: read the ERP, deliver what is due, pull unpaid invoices.',
    example: 'waybill sync --limit 5',
    json: true,
  })
    .addArgument(
      new Argument('[stage]', 'only this stage; without it all three').choices(['capture', 'deliver', 'pull']),
    )
    .option('--dry-run', 'read and decide, write and send nothing')
    .option('--limit <n>', 'send only so many orders that are new or changed, and their customers', positive)
    .option('--key <key>', 'send only the order with this key of the ERP, and its customer (may be repeated)', collect)
    .option('--trial', 'send these few to a production service before go-live; with --limit or --key')
    .action(async (stage: SyncStage | undefined, options: SyncCommandOptions) => {
      if (options.trial && options.limit === undefined && !options.key)
        throw new UsageError('--trial sends only a few: add --limit 5 or --key.');
      const stop = stopSignal();
      const bar = progressBar();
      try {
        await withApp('sync', options, async (app) => {
          if (!stage || stage === 'capture') await app.reader().check();
          const result = await sync(
            app.context,
            { reader: app.reader(), client: app.client, writer: app.writer },
            {
              stages: stage ? [stage] : ['capture', 'deliver', 'pull'],
              ...(options.key ? { filter: { entity: 'order' as const, keys: options.key } } : {}),
              ...(options.limit === undefined ? {} : { limit: options.limit }),
              dryRun: options.dryRun ?? false,
              trial: options.trial ?? false,
              signal: stop.signal,
              onProgress: ({ stage: name, done, total }) => bar.show(name, done, total),
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

export function positive(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new InvalidArgumentError('It must be a whole number from 1.');
  return value;
}
