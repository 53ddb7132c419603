import { Argument, type Command } from 'commander';
import { secretsOf } from '../app.js';
import { confirmHeld, type HeldSummary, summariseHeld } from '../operator/confirm-held.js';
import type { Confirmation, HeldFilter } from '../operator/held-messages.js';
import { type CommonOptions, collect, describeCommand, exitCode, UsageError, withApp } from './command.js';
import { confirm } from './terminal/confirm.js';
import { Output, shorten } from './terminal/output.js';

interface ConfirmOptions extends CommonOptions {
  key?: string[];
  dryRun?: boolean;
  yes?: boolean;
  adopt?: boolean;
  discard?: boolean;
  reason?: string;
}

export function confirmCommand(): Command {
  return describeCommand({
    name: 'confirm',
    summary: 'Show the updates and removals that a brake holds, and send, adopt or discard them.',
    example: 'waybill confirm --dry-run',
    json: true,
  })
    .addArgument(new Argument('[entity]', 'only these').choices(['customers', 'orders']))
    .option('--key <key>', 'only the record with this key of the ERP (may be repeated)', collect)
    .option('--dry-run', 'show the list, change nothing')
    .option('--adopt', 'take what the ERP says as the baseline from here on, without sending it')
    .option('--discard', 'close what is held without sending it')
    .option('--yes', 'do not ask')
    .option('--reason <text>', 'why, for the audit')
    .action(async (plural: 'customers' | 'orders' | undefined, options: ConfirmOptions) => {
      if (options.adopt && options.discard) throw new UsageError('Say one of --adopt and --discard.');
      if (!options.dryRun && !options.reason) throw new UsageError('Say why: --reason "…". Or look first: --dry-run.');
      const confirmation: Confirmation = options.adopt ? 'adopt' : options.discard ? 'discard' : 'send';
      const filter: HeldFilter = {
        ...(plural ? { entity: plural === 'orders' ? 'order' : 'customer' } : {}),
        ...(options.key ? { keys: options.key } : {}),
      };
      await withApp('confirm', options, async (app) => {
        const output = new Output(secretsOf(app.settings));
        const { summary: held, shown } = await summariseHeld(app.context, filter);
        if (options.json && options.dryRun) await output.printJson(held);
        if (!options.json) await show(output, held);
        const isNothing = held.held === 0 && held.brakes.length === 0;
        if (options.dryRun || isNothing) {
          if (options.json && !options.dryRun) await output.printJson({ ...held, done: 0 });
          return isNothing ? exitCode.done : exitCode.waitsForPerson;
        }
        if (!(await confirm(`${questions[confirmation]} ${held.held} changes?`, options.yes))) {
          if (!options.json) await output.line('Nothing was done.');
          return exitCode.failed;
        }
        const done = await confirmHeld(app.context, filter, confirmation, shown, options.reason ?? '');
        if (options.json) await output.printJson({ ...held, done });
        else await output.line(`${outcomes[confirmation]}: ${done}.`);
        return exitCode.done;
      });
    });
}

async function show(output: Output, held: HeldSummary): Promise<void> {
  for (const brake of held.brakes)
    await output.line(`All updates and removals of ${brake.entity}s are held: ${brake.reason}.`);
  if (held.held === 0) {
    await output.line('No change is held.');
    return;
  }
  await output.table(
    ['count', 'entity', 'what', 'held because'],
    held.groups.map((group) => [group.count, group.entity, group.operation, shorten(group.reason, 90)]),
  );
  if (held.fields.length > 0)
    await output.table(
      ['entity', 'field', 'records'],
      held.fields.map(({ entity, field, count }) => [entity, field, count]),
    );
  await output.table(
    ['entity', 'key', 'number', 'what', 'fields'],
    held.first.map((one) => [one.entity, one.sourceKey, one.number, one.operation, shorten(one.fields.join(', '), 60)]),
  );
  if (held.held > held.first.length) await output.line(`… and ${held.held - held.first.length} more.`);
}

const questions: Record<Confirmation, string> = {
  send: 'Send to the service:',
  adopt: 'Adopt as the baseline, without sending:',
  discard: 'Discard for good:',
};

const outcomes: Record<Confirmation, string> = {
  send: 'Will be sent now',
  adopt: 'Adopted without sending',
  discard: 'Discarded',
};
