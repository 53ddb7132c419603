import { type Command, Option } from 'commander';
import type { Entity } from '../model/record.js';
import type { OperatorAction } from '../operator/actions/decide-message.js';
import { type ActionPlan, type ActionRequest, actOnMessages, planAction } from '../operator/actions/message-actions.js';
import { checkClaims, type SaidClaim, sidesInWords } from '../operator/check-claims.js';
import { type FindBy, recordsNamed } from '../operator/find-records.js';
import { shorten } from '../operator/format.js';
import {
  countMessages,
  type Grouping,
  groupings,
  groupMessages,
  listedTime,
  listMessages,
  type MessageFilter,
} from '../operator/list-messages.js';
import { actionWords, waitsForInWords } from '../operator/words.js';
import { type MessageState, messageStates, type ParkClass, parkClasses } from '../outbound/outbox/message.js';
import {
  type CommandApp,
  checkReason,
  confirm,
  defined,
  entityOption,
  exitCode,
  inApp,
  jsonCommand,
  limitOption,
  repeatable,
  sourceOption,
  UsageError,
} from './command.js';
import { byOption, meantBy, namingOf, noteAmbiguous } from './named-records.js';
import { readNamedRecords } from './record-list.js';
import type { Output } from './terminal/output.js';

interface FilterOptions {
  state?: MessageState;
  entity?: Entity;
  key?: string[];
  by?: FindBy;
  class?: ParkClass;
  reasonLike?: string;
}

interface ActionOptions extends FilterOptions {
  reason: string;
  yes?: boolean;
  delivered?: boolean;
  notDelivered?: boolean;
  lookUp?: boolean;
  serviceId?: string;
  file?: string;
  unchecked?: boolean;
}

export function outboxCommand(): Command {
  const outbox = jsonCommand(
    'outbox',
    'List the messages that wait, with their state and reason. Subcommands act on them.',
    'waybill outbox --state parked --group-by reason',
  );
  const retry = actionCommand(
    'retry',
    'Try parked or waiting messages again now, where that cannot make a second record.',
    'waybill outbox retry --class refused --reason-like "unknown sku" --reason "sku added at the service"',
  );
  const discard = actionCommand(
    'discard',
    'Close messages for good: parked ones, and ones of which nothing was sent.',
    'waybill outbox discard --key 4711 --entity order --reason "test order"',
  );
  const resolve = actionCommand(
    'resolve',
    'Say what you found at the service about messages that may exist there.',
    'waybill outbox resolve --key 4711 --entity order --delivered --service-id ord_93 --reason "found by its note"',
  )
    .option('--delivered', 'it exists there')
    .option('--not-delivered', 'it does not exist there: Waybill sends it again')
    .option('--look-up', 'ask the service for it (service.endpoints.lookUpOrder and lookUpCustomer)')
    .option(
      '--service-id <id>',
      'the id that the service gave to it (orders need it, or a --file with the ids); Waybill asks the service what it has there',
    )
    .option(
      '--unchecked',
      'with --delivered: you looked yourself; Waybill does not ask, and records it as your word alone',
    );
  const list = withFilters(outbox)
    .addOption(new Option('--group-by <what>', 'count them by what they have in common').choices(groupings))
    .addOption(limitOption('how many to show', 50))
    // Without this, commander gives the options behind `retry` to this command, even those that retry does not know.
    .enablePositionalOptions()
    .action(inApp(listOutbox, { needsStore: true }));
  return list.addCommand(retry).addCommand(discard).addCommand(resolve);
}

function withFilters(command: Command): Command {
  return command
    .addOption(new Option('--state <state>', 'only this state').choices(messageStates))
    .addOption(entityOption())
    .addOption(repeatable('--key <key>', 'only this ERP key, order number or customer code'))
    .addOption(byOption())
    .addOption(sourceOption())
    .addOption(new Option('--class <class>', 'only parked messages of this class').choices(parkClasses))
    .option('--reason-like <text>', 'only where the reason contains this text');
}

function actionCommand(name: 'retry' | 'discard' | 'resolve', summary: string, example: string): Command {
  const act = async (app: CommandApp, options: ActionOptions) => {
    const { serviceId = null, reason, yes, file, unchecked = false } = options;
    const action = name === 'resolve' ? found(options) : name;
    const list = file === undefined ? undefined : await readNamedRecords(file, action === 'delivered' ? 2 : 1);
    const records = options.key && (await meantBy(app, options.key, options.by, options.entity));
    const filter = { ...filterOf(app, options), ...defined({ records }) };
    return actOnOutbox(app, { action, filter, serviceId, reason, unchecked, ...(list && { list }) }, yes);
  };
  return withFilters(jsonCommand(name, summary, example))
    .option(
      '--file <csv>',
      'only the records in this list: a key or number a line, with --delivered also the id; - is stdin',
    )
    .requiredOption('--reason <text>', 'why, for the audit')
    .option('--yes', 'do it without asking')
    .action(inApp(act, { needsStore: true, check: checkAction }));
}

function found({ delivered, notDelivered }: ActionOptions): OperatorAction {
  if (delivered) return 'delivered';
  return notDelivered ? 'not_delivered' : 'look_up';
}

function checkAction(options: ActionOptions, command: Command): void {
  const name = command.name();
  const answers = [options.delivered, options.notDelivered, options.lookUp].filter(Boolean).length;
  if (name === 'resolve' && answers !== 1)
    throw new UsageError('Say what you found, --delivered or --not-delivered, or have the service asked: --look-up.');
  if (!options.delivered && options.unchecked)
    throw new UsageError('--unchecked belongs to --delivered: it is your word that the record is there.');
  if (!options.delivered && options.serviceId !== undefined)
    throw new UsageError('--service-id belongs to --delivered: a record that does not exist has no id.');
  if (options.file !== undefined) {
    if (options.entity === undefined)
      throw new UsageError('--file needs --entity: a customer and an order may share a key.');
    if (options.serviceId !== undefined || options.key)
      throw new UsageError('--file names the records and their ids: leave out --key and --service-id.');
    if (options.file === '-' && !options.yes)
      throw new UsageError('--file - takes the list from stdin, where no answer can be read: confirm with --yes.');
  }
  // An option of the list that the action ignores would widen what it acts on.
  for (const option of ['limit', 'groupBy'])
    if (command.parent?.getOptionValueSource(option) === 'cli')
      throw new UsageError(`--limit and --group-by belong to the list; ${name} acts on everything that matches.`);
  const { state, entity, key, class: parkClass, reasonLike } = options;
  if ([state, entity, key, parkClass, reasonLike].every((one) => one === undefined))
    throw new UsageError(
      'Say which messages: --key, --entity, --state, --class or --reason-like. Look first: waybill outbox --state parked',
    );
  checkReason(options);
}

/** Everything but the names of records. */
function filterOf(
  { source }: CommandApp,
  { state, entity, class: parkClass, reasonLike }: FilterOptions,
): MessageFilter {
  return defined({ states: state && [state], entity, source, parkClass, reasonLike });
}

/** How many messages that moved on are named. */
const shownLeft = 20;

const openOrParked: readonly MessageState[] = ['pending', 'sending', 'in_doubt', 'parked'];

/** The messages that match, the newest first, or how many there are of each kind. */
async function listOutbox(
  app: CommandApp,
  { groupBy, limit, ...options }: FilterOptions & { groupBy?: Grouping; limit: number },
): Promise<void> {
  const { store, output } = app;
  const { key: names, by, entity } = options;
  const named =
    names && (await store.read('look for records', (tx) => recordsNamed(tx, names, namingOf(app, by, entity))));
  if (named) noteAmbiguous(named);
  const records = named && [...named.values()].flat();
  const given: MessageFilter = { ...filterOf(app, options), ...defined({ records }) };
  // Without a state or a key, the list shows what waits, not the million messages that arrived.
  const filter = given.states || given.records ? given : { ...given, states: openOrParked };
  if (groupBy) {
    const groups = await store.read('count messages', (tx) => groupMessages(tx, filter, groupBy, limit));
    output.jsonWithTimes(groups);
    if (groups.length === 0) return output.line('Nothing matches.');
    return output.table(
      ['messages', groupBy, 'class', 'oldest since'],
      groups.map((g) => [g.count, shorten(g.group, 90), g.parkClass, output.time(g.oldestAt)]),
    );
  }

  const { messages, count } = await store.read('list messages', async (tx) => ({
    messages: await listMessages(tx, filter, limit),
    count: await countMessages(tx, filter),
  }));
  output.jsonWithTimes({ count, messages });
  if (messages.length === 0)
    return output.line(
      filter === given ? 'Nothing matches.' : 'Nothing waits. (--state delivered lists what arrived.)',
    );
  output.table(
    ['entity', 'key', 'number', 'what', 'state', 'tries', 'next try / closed', 'reason'],
    messages.map((message) => {
      const { entity, sourceKey, number, operation, state, parkClass, attempts, waitsFor } = message;
      const at = listedTime(message);
      const stands = parkClass && state === 'parked' ? `parked (${parkClass})` : state;
      const why = shorten(message.flag ?? message.reason ?? '', 60);
      const other = waitsFor === null ? '' : waitsForInWords[waitsFor];
      const when = at === null ? other : output.time(at);
      return [entity, sourceKey, number, operation, stands, attempts, when, why];
    }),
  );
  const shown =
    messages.length < count
      ? `The newest ${messages.length} of ${count}. For more use --limit, for sums --group-by reason.`
      : `${count} in all.`;
  output.line(`${shown} The story of one record: waybill explain <customer|order> KEY`);
}

/** Shows what the action would do to which messages, asks, and does it. @returns the exit code */
async function actOnOutbox(
  { context, output, client }: CommandApp,
  request: ActionRequest,
  yes: boolean | undefined,
): Promise<number> {
  const { action } = request;
  const ask = (claims: readonly SaidClaim[]) => checkClaims(context, client, claims);
  const plan = await planAction(context, request, request.unchecked ? {} : { ask });
  const { matched, ids, shown, checks, leftExamples: left } = plan;
  const named = Math.max(ids.length, checks.size);
  if (request.serviceId !== null && named > 1)
    throw new UsageError(`--service-id names one record, but ${named} messages match. Add --key and --entity.`);
  if (ids.length === 0) output.json({ action, matched, done: 0, left });
  if (matched === 0) {
    output.line('No message matches.');
    return exitCode.failed;
  }
  showPlan(output, request, plan);
  if (ids.length === 0) return exitCode.failed;
  if (!(await confirm(`${actionWords[action].question} ${plural(ids.length)}?`, yes))) {
    output.line('Nothing was done.');
    return exitCode.failed;
  }
  const { done, left: leftSince } = await actOnMessages(context, request, ids, shown, checks);
  output.json({ action, matched, done, left: [...left, ...leftSince] });
  output.line(`${actionWords[action].outcome}: ${plural(done)}.`);
  if (done < ids.length) output.line(`${plural(ids.length - done)} had moved on meanwhile and were left alone.`);
  output.lines(...leftSince.slice(0, shownLeft).map(({ entity, key, why }) => `Left alone: ${entity} ${key}: ${why}.`));
  if (action === 'look_up' && done > 0)
    output.line('A running daemon asks the service for them. Without one: waybill sync deliver');
  const isSomeLeft = plan.leftByReason.size > 0 || done < ids.length;
  return isSomeLeft ? exitCode.waitsForPerson : exitCode.done;
}

function showPlan(output: Output, { action, list, unchecked }: ActionRequest, plan: ActionPlan): void {
  const { matched, ids, examples, checks, leftByReason, leftExamples } = plan;
  if (ids.length > 0)
    output.table(
      ['entity', 'key', 'number', 'what', 'state', 'reason', 'becomes'],
      examples.map(({ message, decision }) => [
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
      { total: ids.length },
    );
  for (const { message, decision } of examples) {
    const check = checks.get(message.id);
    if (check?.kind === 'same' && decision.to === 'delivered')
      output.line(`The service shows it as ${decision.serviceId}: ${sidesInWords(check.sides)}.`);
  }
  const notShown = [...checks.values()].filter(({ kind }) => kind !== 'same').length;
  if (notShown > 0)
    output.line(
      unchecked
        ? `Not checked at the service: ${plural(notShown)}. They are recorded as your word alone.`
        : `Left alone until you have looked there yourself: ${plural(notShown)}. To record them all the same: --unchecked`,
    );
  if (list) {
    output.line(`${matched} records are listed; ${actionWords[action].possible} ${plural(ids.length)}.`);
    output.lines(...leftExamples.map(({ key, why }) => `Left alone: ${key}: ${why}.`));
    return;
  }
  output.line(`${plural(matched)} match; ${actionWords[action].possible} ${ids.length} of them.`);
  for (const [why, count] of leftByReason) {
    const example = leftExamples.find((left) => left.why === why);
    const named = example ? ` (${count > 1 ? 'for one ' : ''}${example.entity} ${example.number ?? example.key})` : '';
    output.line(`Left alone: ${count}${named}: ${why}.`);
  }
}

function plural(count: number): string {
  return count === 1 ? '1 message' : `${count} messages`;
}
