import { type Command, Option } from 'commander';
import type { Entity } from '../model/record.js';
import {
  countMessages,
  type Grouping,
  groupings,
  groupMessages,
  type ListedMessage,
  listMessages,
  type MessageFilter,
} from '../operator/list-messages.js';
import { type MessageState, messageStates, type ParkClass } from '../outbound/outbox/message.js';
import {
  type CommandApp,
  defined,
  describeCommand,
  entityOption,
  exitCode,
  inApp,
  limitOption,
  repeatable,
  UsageError,
} from './command.js';
import { actOnOutbox } from './outbox-action.js';
import { shorten } from './terminal/output.js';

interface FilterOptions {
  state?: MessageState;
  entity?: Entity;
  key?: string[];
  class?: ParkClass;
  reasonLike?: string;
}

interface ListOptions extends FilterOptions {
  groupBy?: Grouping;
  limit: number;
}

interface ActionOptions extends FilterOptions {
  reason: string;
  yes?: boolean;
  delivered?: boolean;
  notDelivered?: boolean;
  serviceId?: string;
}

const parkClasses = ['unmapped', 'refused', 'conflict', 'unproven', 'held'] as const satisfies readonly ParkClass[];

export function outboxCommand(): Command {
  return (
    withFilters(
      describeCommand({
        name: 'outbox',
        summary: 'List the messages that wait, with their state and reason. Subcommands act on them.',
        example: 'waybill outbox --state parked --group-by reason',
        json: true,
      }),
    )
      .addOption(new Option('--group-by <what>', 'count them by what they have in common').choices(groupings))
      .addOption(limitOption('how many to show', 50))
      // Without this, commander gives the options behind `retry` to this command, even those that retry does not know.
      .enablePositionalOptions()
      .action(inApp(listOutbox))
      .addCommand(
        actionCommand({
          name: 'retry',
          summary: 'Try parked or waiting messages again now, where that cannot make a second record.',
          example:
            'waybill outbox retry --class refused --reason-like "unknown sku" --reason "sku added at the service"',
        }),
      )
      .addCommand(
        actionCommand({
          name: 'discard',
          summary: 'Close messages for good: parked ones, and ones of which nothing was sent.',
          example: 'waybill outbox discard --key 4711 --entity order --reason "test order"',
        }),
      )
      .addCommand(
        actionCommand({
          name: 'resolve',
          summary: 'Say what you found at the service about messages that may exist there.',
          example:
            'waybill outbox resolve --key 4711 --entity order --delivered --service-id ord_93 --reason "found by its note"',
        })
          .option('--delivered', 'it exists there')
          .option('--not-delivered', 'it does not exist there: Waybill sends it again')
          .option('--service-id <id>', 'the id that the service gave to it (needed for orders)'),
      )
  );
}

function withFilters(command: Command): Command {
  return command
    .addOption(new Option('--state <state>', 'only this state').choices(messageStates))
    .addOption(entityOption())
    .addOption(repeatable('--key <key>', 'only this ERP key or number'))
    .addOption(new Option('--class <class>', 'only parked messages of this class').choices(parkClasses))
    .option('--reason-like <text>', 'only where the reason contains this text');
}

function actionCommand(description: {
  name: 'retry' | 'discard' | 'resolve';
  summary: string;
  example: string;
}): Command {
  const { name } = description;
  const act = (app: CommandApp, options: ActionOptions) => {
    const { serviceId = null, reason, yes } = options;
    const action = name === 'resolve' ? (options.delivered ? 'delivered' : 'not_delivered') : name;
    return actOnOutbox(app, { action, filter: filterOf(options), serviceId, reason }, yes);
  };
  return withFilters(describeCommand({ ...description, json: true }))
    .requiredOption('--reason <text>', 'why, for the audit')
    .option('--yes', 'do it without asking')
    .action(inApp(act, { check: checkAction }));
}

function checkAction(options: ActionOptions, command: Command): void {
  const name = command.name();
  if (name === 'resolve' && Boolean(options.delivered) === Boolean(options.notDelivered))
    throw new UsageError('Say what you found: --delivered or --not-delivered.');
  if (options.notDelivered && options.serviceId !== undefined)
    throw new UsageError('--service-id belongs to --delivered: a record that does not exist has no id.');
  // An option of the list that the action ignores would widen what it acts on.
  for (const option of ['limit', 'groupBy'])
    if (command.parent?.getOptionValueSource(option) === 'cli')
      throw new UsageError(`--limit and --group-by belong to the list; ${name} acts on everything that matches.`);
  if (Object.keys(filterOf(options)).length === 0)
    throw new UsageError(
      'Say which messages: --key, --entity, --state, --class or --reason-like. Look first: waybill outbox --state parked',
    );
  if (options.reason.trim() === '') throw new UsageError('--reason is empty: say why, because the audit keeps it.');
}

function filterOf({ state, entity, key: keys, class: parkClass, reasonLike }: FilterOptions): MessageFilter {
  return defined({ states: state && [state], entity, keys, parkClass, reasonLike });
}

const openOrParked: readonly MessageState[] = ['pending', 'sending', 'in_doubt', 'parked'];

/** The messages that match, the newest first, or how many there are of each kind. */
async function listOutbox({ store, output }: CommandApp, options: ListOptions): Promise<number> {
  const given = filterOf(options);
  // Without a state or a key, the list shows what waits, not the million messages that arrived.
  const filter = given.states || given.keys ? given : { ...given, states: openOrParked };
  const { groupBy, limit } = options;
  if (groupBy) {
    const groups = await store.read('count messages', (tx) => groupMessages(tx, filter, groupBy, limit));
    output.jsonWithTimes(groups);
    if (groups.length === 0) output.line('Nothing matches.');
    else
      output.table(
        ['messages', groupBy, 'class', 'oldest since'],
        groups.map((g) => [g.count, shorten(g.group, 90), g.parkClass, output.time(g.oldestAt)]),
      );
    return exitCode.done;
  }

  const { messages, count } = await store.read('list messages', async (tx) => ({
    messages: await listMessages(tx, filter, limit),
    count: await countMessages(tx, filter),
  }));
  output.jsonWithTimes({ count, messages });
  if (messages.length === 0) {
    output.line(filter === given ? 'Nothing matches.' : 'Nothing waits. (--state delivered lists what arrived.)');
    return exitCode.done;
  }
  output.table(
    ['entity', 'key', 'number', 'what', 'state', 'tries', 'next try / closed', 'reason'],
    messages.map((message) => listRow(message, output.time)),
  );
  const shown =
    messages.length < count
      ? `The newest ${messages.length} of ${count}. For more use --limit, for sums --group-by reason.`
      : `${count} in all.`;
  output.line(`${shown} The story of one record: waybill explain <customer|order> KEY`);
  return exitCode.done;
}

function listRow(message: ListedMessage, time: (ms: number) => string): (string | number | null)[] {
  const { state, parkClass, nextAttemptAt, closedAt, flag, reason } = message;
  const when = state === 'pending' || state === 'in_doubt' ? nextAttemptAt : closedAt;
  return [
    message.entity,
    message.sourceKey,
    message.number,
    message.operation,
    parkClass && state === 'parked' ? `parked (${parkClass})` : state,
    message.attempts,
    when === null ? '' : time(when),
    shorten(flag ?? reason ?? '', 60),
  ];
}
