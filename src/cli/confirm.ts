import { type Command, Option } from 'commander';
import {
  type Confirmation,
  confirmHeld,
  type HeldFilter,
  type HeldSummary,
  summariseHeld,
} from '../operator/confirm-held.js';
import {
  type CommandApp,
  confirm,
  defined,
  entityOf,
  exitCode,
  inApp,
  jsonCommand,
  type Plural,
  pluralArgument,
  repeatable,
  UsageError,
} from './command.js';
import { type Output, shorten } from './terminal/output.js';

interface ConfirmOptions {
  key?: string[];
  dryRun?: boolean;
  yes?: boolean;
  adopt?: boolean;
  discard?: boolean;
  reason?: string;
}

export function confirmCommand(): Command {
  return jsonCommand(
    'confirm',
    'Show the updates and removals that a brake holds, and send, adopt or discard them.',
    'waybill confirm --dry-run',
  )
    .addArgument(pluralArgument('[entity]', 'only these'))
    .addOption(repeatable('--key <key>', 'only the record with this key of the ERP'))
    .option('--dry-run', 'show the list, change nothing')
    .option('--adopt', 'take what the ERP says as the new baseline, without sending it')
    .addOption(new Option('--discard', 'close what is held without sending it').conflicts('adopt'))
    .option('--yes', 'do not ask')
    .option('--reason <text>', 'why, for the audit')
    .action(
      inApp(confirmChanges, {
        check: ({ dryRun, reason }: ConfirmOptions) => {
          if (!dryRun && !reason) throw new UsageError('Say why: --reason "…". Or look first: --dry-run.');
        },
      }),
    );
}

async function confirmChanges(
  { context, output }: CommandApp,
  { adopt, discard, dryRun, yes, key, reason = '' }: ConfirmOptions,
  plural: Plural | undefined,
): Promise<number> {
  const confirmation: Confirmation = adopt ? 'adopt' : discard ? 'discard' : 'send';
  const filter: HeldFilter = defined({ entity: plural && entityOf(plural), keys: key });
  const { summary: held, shown } = await summariseHeld(context, filter);
  show(output, held);
  const isNothing = held.held === 0 && held.brakes.length === 0;
  if (dryRun || isNothing) {
    output.json(dryRun ? held : { ...held, done: 0 });
    return isNothing ? exitCode.done : exitCode.waitsForPerson;
  }
  if (!(await confirm(`${words[confirmation].question} ${held.held} changes?`, yes))) {
    output.line('Nothing was done.');
    return exitCode.failed;
  }
  const done = await confirmHeld(context, filter, confirmation, shown, reason);
  output.json({ ...held, done });
  output.line(`${words[confirmation].outcome}: ${done}.`);
  return exitCode.done;
}

function show(output: Output, held: HeldSummary): void {
  for (const brake of held.brakes)
    output.line(`All updates and removals of ${brake.entity}s are held: ${brake.reason}.`);
  if (held.held === 0) {
    output.line('No change is held.');
    return;
  }
  output.table(
    ['count', 'entity', 'what', 'held because'],
    held.groups.map((group) => [group.count, group.entity, group.operation, shorten(group.reason, 90)]),
  );
  if (held.fields.length > 0)
    output.table(
      ['entity', 'field', 'records'],
      held.fields.map(({ entity, field, count }) => [entity, field, count]),
    );
  output.table(
    ['entity', 'key', 'number', 'what', 'fields'],
    held.first.map((one) => [one.entity, one.sourceKey, one.number, one.operation, shorten(one.fields.join(', '), 60)]),
    { total: held.held },
  );
}

const words: Record<Confirmation, { question: string; outcome: string }> = {
  send: { question: 'Send to the service:', outcome: 'Will be sent now' },
  adopt: { question: 'Adopt as the baseline, without sending:', outcome: 'Adopted without sending' },
  discard: { question: 'Discard for good:', outcome: 'Discarded' },
};
