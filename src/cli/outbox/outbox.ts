import { type Command, Option } from 'commander';
import { groupings } from '../../operator/list-messages.js';
import type { OperatorAction } from '../../operator/operator-action.js';
import { messageStates, type ParkClass } from '../../outbound/outbox/message.js';
import { collect, describeCommand, positiveInteger, UsageError, withApp } from '../command.js';
import { actOnOutbox } from './outbox-action.js';
import { type ActionOptions, filterOf, type ListOptions, listOutbox } from './outbox-list.js';

const parkClasses = ['unmapped', 'refused', 'conflict', 'unproven', 'held'] as const satisfies readonly ParkClass[];

export function outboxCommand(): Command {
  const list = withFilters(
    describeCommand({
      name: 'outbox',
      summary: 'What waits: messages with their state and reason. Subcommands act on them.',
      example: 'waybill outbox --state parked --group-by reason',
      json: true,
    }),
  )
    .addOption(new Option('--group-by <what>', 'count them by what they have in common').choices(groupings))
    .option('--limit <n>', 'how many to show', positiveInteger, 50)
    // Else commander gives the options behind `retry` to this command, also those that retry does not know.
    .enablePositionalOptions()
    .action((options: ListOptions) => withApp('outbox', options, (app) => listOutbox(app, options)));

  const retry = action('retry', 'Try parked or waiting messages again now, where that can not make a second record.', {
    example: 'waybill outbox retry --class refused --reason-like "unknown sku" --reason "sku added at the service"',
  }).action((_options, command: Command) => act('retry', 'retry', allOptions(command)));

  const discard = action('discard', 'Close messages that nothing was sent of, or that are parked, for good.', {
    example: 'waybill outbox discard --key 4711 --entity order --reason "test order"',
  }).action((_options, command: Command) => act('discard', 'discard', allOptions(command)));

  const resolve = action('resolve', 'Say what you found at the service about messages that may exist there.', {
    example:
      'waybill outbox resolve --key 4711 --entity order --delivered --service-id ord_93 --reason "found by its note"',
  })
    .option('--delivered', 'it exists there')
    .option('--not-delivered', 'it does not exist there: it is sent again')
    .option('--service-id <id>', 'the id that the service gave to it (needed for orders)')
    .action((_options, command: Command) => {
      const options = allOptions(command);
      if (Boolean(options.delivered) === Boolean(options.notDelivered))
        throw new UsageError('Say what you found: --delivered or --not-delivered.');
      if (options.notDelivered && options.serviceId !== undefined)
        throw new UsageError('--service-id belongs to --delivered: what does not exist has no id.');
      return act(options.delivered ? 'delivered' : 'not_delivered', 'resolve', options);
    });

  for (const command of [retry, discard, resolve]) list.addCommand(command);
  return list;
}

function action(name: string, summary: string, { example }: { example: string }): Command {
  return withFilters(describeCommand({ name, summary, example, json: true }))
    .requiredOption('--reason <text>', 'why, for the audit')
    .option('--yes', 'do it without asking');
}

function withFilters(command: Command): Command {
  return command
    .addOption(new Option('--state <state>', 'only this state').choices(messageStates))
    .addOption(new Option('--entity <entity>', 'only customers or only orders').choices(['customer', 'order']))
    .option('--key <key>', 'only this ERP key or number (may be repeated)', collect)
    .addOption(new Option('--class <class>', 'only parked messages of this class').choices(parkClasses))
    .option('--reason-like <text>', 'only where the reason contains this text');
}

/** With what was typed before the subcommand's name: a filter that is ignored would widen what is acted on. */
function allOptions(command: Command): ActionOptions {
  const { parent } = command;
  for (const option of ['limit', 'groupBy'])
    if (parent?.getOptionValueSource(option) === 'cli')
      throw new UsageError(
        `--limit and --group-by belong to the list; ${command.name()} acts on everything that matches.`,
      );
  return { ...parent?.opts(), ...command.opts() };
}

async function act(action: OperatorAction, role: string, options: ActionOptions): Promise<void> {
  const filter = filterOf(options);
  if (Object.keys(filter).length === 0)
    throw new UsageError(
      `Say which messages: --key, --entity, --state, --class or --reason-like. Look first: waybill outbox --state parked`,
    );
  if (options.reason.trim() === '') throw new UsageError('--reason is empty: say why, the audit keeps it.');
  await withApp(`outbox ${role}`, options, (app) => actOnOutbox(app, action, filter, options));
}
