import { type Command, Option } from 'commander';
import type { App } from '../app.js';
import { secretsOf } from '../app.js';
import { appendAudit } from '../audit/audit-log.js';
import type { Entity } from '../model/entity.js';
import { type Grouping, groupings, groupMessages } from '../outbox/group-messages.js';
import { countMessages, type ListedMessage, listMessages } from '../outbox/list-messages.js';
import { type MessageState, messageStates, type ParkClass } from '../outbox/message.js';
import type { MessageFilter } from '../outbox/message-filter.js';
import { decideForMessages, matchingIds, type Operated, writeOperatorDecisions } from '../outbox/operate-messages.js';
import type { OperatorAction } from '../outbox/operator-action.js';
import { type CommonOptions, collect, describeCommand, withApp } from './command.js';
import { confirm } from './confirm.js';
import { exitCode } from './exit-codes.js';
import { isoFormatter, timeFormatter } from './format-time.js';
import { Output, shorten } from './output.js';
import { positiveInteger } from './positive-integer.js';
import { UsageError } from './usage-error.js';

interface FilterOptions extends CommonOptions {
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
const openOrParked: readonly MessageState[] = ['pending', 'sending', 'in_doubt', 'parked'];
const listedBeforeAction = 20;
const batchSize = 200;

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
    .action((options: ListOptions) => withApp('outbox', options, (app) => showList(app, options)));

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

function filterOf(options: FilterOptions): MessageFilter {
  return {
    ...(options.state ? { states: [options.state] } : {}),
    ...(options.entity ? { entity: options.entity } : {}),
    ...(options.key ? { keys: options.key } : {}),
    ...(options.class ? { parkClass: options.class } : {}),
    ...(options.reasonLike === undefined ? {} : { reasonLike: options.reasonLike }),
  };
}

async function showList(app: App, options: ListOptions): Promise<number> {
  const output = new Output(secretsOf(app.settings));
  const given = filterOf(options);
  // Whoever asks for nothing in particular wants to know what waits, not the million that arrived.
  const filter = given.states || given.keys ? given : { ...given, states: openOrParked };
  const { store, settings } = app;
  const time = timeFormatter(settings.erp.timeZone);
  const iso = isoFormatter(settings.erp.timeZone);

  const { groupBy } = options;
  if (groupBy) {
    const groups = await store.read('count messages', (tx) => groupMessages(tx, filter, groupBy, options.limit));
    if (options.json) await output.printJson(groups.map((group) => ({ ...group, oldestAt: iso(group.oldestAt) })));
    else if (groups.length === 0) await output.line('Nothing matches.');
    else
      await output.table(
        ['messages', groupBy, 'class', 'oldest since'],
        groups.map((g) => [g.count, shorten(g.group, 90), g.parkClass, time(g.oldestAt)]),
      );
    return exitCode.done;
  }

  const { rows, count } = await store.read('list messages', async (tx) => ({
    rows: await listMessages(tx, filter, options.limit),
    count: await countMessages(tx, filter),
  }));
  if (options.json) {
    const messages = rows.map((row) => ({
      ...row,
      nextAttemptAt: iso(row.nextAttemptAt),
      capturedAt: iso(row.capturedAt),
      closedAt: iso(row.closedAt),
    }));
    await output.printJson({ count, messages });
    return exitCode.done;
  }
  if (rows.length === 0) {
    await output.line(filter === given ? 'Nothing matches.' : 'Nothing waits. (--state delivered shows what arrived.)');
    return exitCode.done;
  }
  await output.table(
    ['entity', 'key', 'number', 'what', 'state', 'tries', 'next try / closed', 'reason'],
    rows.map((row) => listRow(row, time)),
  );
  await output.line(
    `${rows.length < count ? `The newest ${rows.length} of ${count}; more with --limit, sums with --group-by reason.` : `${count} in all.`} One record's story: waybill explain <customer|order> KEY`,
  );
  return exitCode.done;
}

function listRow(row: ListedMessage, time: (ms: number) => string): (string | number | null)[] {
  const when =
    row.state === 'pending' || row.state === 'in_doubt'
      ? time(row.nextAttemptAt)
      : row.closedAt === null
        ? ''
        : time(row.closedAt);
  return [
    row.entity,
    row.sourceKey,
    row.number,
    row.operation,
    row.parkClass && row.state === 'parked' ? `parked (${row.parkClass})` : row.state,
    row.attempts,
    when,
    shorten(row.flag ?? row.reason ?? '', 60),
  ];
}

async function act(action: OperatorAction, role: string, options: ActionOptions): Promise<void> {
  const filter = filterOf(options);
  if (Object.keys(filter).length === 0)
    throw new UsageError(
      `Say which messages: --key, --entity, --state, --class or --reason-like. Look first: waybill outbox --state parked`,
    );
  if (options.reason.trim() === '') throw new UsageError('--reason is empty: say why, the audit keeps it.');
  await withApp(`outbox ${role}`, options, (app) => operate(app, action, filter, options));
}

async function operate(
  app: App,
  action: OperatorAction,
  filter: MessageFilter,
  options: ActionOptions,
): Promise<number> {
  const output = new Output(secretsOf(app.settings));
  const decided = await preview(app, action, filter, options);
  if (decided.matched === 0) {
    if (options.json) await output.printJson({ action, matched: 0, done: 0, left: [] });
    else await output.line('No message matches.');
    return exitCode.failed;
  }
  if (options.serviceId !== undefined && decided.ids.length > 1)
    throw new UsageError(
      `--service-id names one record, but ${decided.ids.length} messages match. Add --key and --entity.`,
    );

  if (!options.json) await showPreview(output, action, decided);
  if (decided.ids.length === 0) {
    if (options.json) await output.printJson({ action, matched: decided.matched, done: 0, left: decided.leftExamples });
    return exitCode.failed;
  }
  if (!(await confirm(`${questions[action]} ${plural(decided.ids.length)}?`, options.yes))) {
    await output.line('Nothing was done.');
    return exitCode.failed;
  }

  let done = 0;
  for (let start = 0; start < decided.ids.length; start += batchSize)
    done += await applyBatch(app, action, filter, options, decided.ids.slice(start, start + batchSize));
  const left = decided.matched - done;
  if (options.json) await output.printJson({ action, matched: decided.matched, done, left: decided.leftExamples });
  else {
    await output.line(`${outcomes[action]}: ${plural(done)}.`);
    if (done < decided.ids.length)
      await output.line(`${plural(decided.ids.length - done)} had moved on meanwhile and were left alone.`);
  }
  return left > 0 ? exitCode.waitsForPerson : exitCode.done;
}

const questions: Record<OperatorAction, string> = {
  retry: 'Try again now:',
  discard: 'Discard for good:',
  delivered: 'Record as delivered:',
  not_delivered: 'Record as not delivered, and send again:',
};

const outcomes: Record<OperatorAction, string> = {
  retry: 'Will be tried again now',
  discard: 'Discarded',
  delivered: 'Recorded as delivered',
  not_delivered: 'Recorded as not delivered; will be sent again now',
};

interface Preview {
  matched: number;
  /** Of the messages that the action can be done to: the promise that the person confirms. */
  ids: number[];
  examples: Operated[];
  /** What is left alone: how many for each reason, and a few of them. */
  leftByReason: Map<string, number>;
  leftExamples: { entity: Entity; key: string; number: string | null; why: string }[];
}

async function preview(
  app: App,
  action: OperatorAction,
  filter: MessageFilter,
  options: ActionOptions,
): Promise<Preview> {
  const result: Preview = { matched: 0, ids: [], examples: [], leftByReason: new Map(), leftExamples: [] };
  for (let afterId = 0; ; ) {
    const page = await app.store.read('look which messages match', async (tx) => {
      const ids = await matchingIds(tx, filter, afterId, batchSize);
      return { last: ids.at(-1), operated: await decideForMessages(tx, ids, filter, action, contextOf(app, options)) };
    });
    if (page.last === undefined) return result;
    afterId = page.last;
    for (const one of page.operated) {
      result.matched++;
      if (one.decision.to !== null) {
        result.ids.push(one.message.id);
        if (result.examples.length < listedBeforeAction) result.examples.push(one);
        continue;
      }
      const { why } = one.decision;
      result.leftByReason.set(why, (result.leftByReason.get(why) ?? 0) + 1);
      if (result.leftExamples.length < listedBeforeAction)
        result.leftExamples.push({
          entity: one.message.entity,
          key: one.message.sourceKey,
          number: one.message.number,
          why,
        });
    }
  }
}

async function showPreview(output: Output, action: OperatorAction, decided: Preview): Promise<void> {
  if (decided.ids.length > 0) {
    await output.table(
      ['entity', 'key', 'number', 'what', 'state', 'reason', 'becomes'],
      decided.examples.map(({ message, decision }) => [
        message.entity,
        message.sourceKey,
        message.number,
        message.operation,
        message.parkClass ? `${message.state} (${message.parkClass})` : message.state,
        shorten(message.reason ?? '', 60),
        decision.to === 'delivered'
          ? `delivered as ${decision.serviceId}`
          : `${decision.to}${'newKey' in decision && decision.newKey ? ', with a new key' : ''}`,
      ]),
    );
    if (decided.ids.length > decided.examples.length)
      await output.line(`… and ${decided.ids.length - decided.examples.length} more.`);
  }
  await output.line(`${plural(decided.matched)} match; ${questionless(action)} ${decided.ids.length} of them.`);
  for (const [why, count] of decided.leftByReason) {
    const example = decided.leftExamples.find((left) => left.why === why);
    const named = example ? ` (${count > 1 ? 'for one ' : ''}${example.entity} ${example.number ?? example.key})` : '';
    await output.line(`Left alone: ${count}${named}: ${why}.`);
  }
}

function questionless(action: OperatorAction): string {
  return {
    retry: 'can be tried again:',
    discard: 'can be discarded:',
    delivered: 'can be resolved:',
    not_delivered: 'can be resolved:',
  }[action];
}

/** One batch: decided again with the rows held, written, and on the audit, in one transaction. */
async function applyBatch(
  app: App,
  action: OperatorAction,
  filter: MessageFilter,
  options: ActionOptions,
  ids: readonly number[],
): Promise<number> {
  const { context, settings } = app;
  return app.store.transaction(`record the operator's ${action}`, async (tx) => {
    const decided = await decideForMessages(tx, ids, filter, action, contextOf(app, options), true);
    const possible = decided.filter(({ decision }) => decision.to !== null);
    const at = context.nowMs();
    await writeOperatorDecisions(tx, possible, settings.installation, options.reason, at);
    await appendAudit(
      tx,
      possible.map(({ message, decision }) => ({
        event: 'operator',
        outcome: action,
        entity: message.entity,
        sourceKey: message.sourceKey,
        messageId: message.id,
        actor: context.actor,
        detail: {
          reason: options.reason,
          from: message.state,
          parkClass: message.parkClass,
          to: decision.to,
          ...(decision.to === 'delivered' ? { serviceId: decision.serviceId } : {}),
          ...('newKey' in decision && decision.newKey ? { generation: decision.generation } : {}),
        },
      })),
      at,
    );
    return possible.length;
  });
}

function contextOf(app: App, options: ActionOptions) {
  const { idempotency } = app.settings.service;
  return {
    nowMs: app.context.nowMs(),
    keyLifetimeMs: idempotency.lifetimeHours * 3_600_000,
    replaysRefusals: idempotency.replaysRefusals,
    serviceId: options.serviceId ?? null,
  };
}

function plural(count: number): string {
  return count === 1 ? '1 message' : `${count} messages`;
}
