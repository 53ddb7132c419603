import { type Command, Option } from 'commander';
import type { Fact } from '../model/facts/fact.js';
import { recordsNamed } from '../operator/find-records.js';
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
import { remediesFor, remedyMapping } from '../operator/setup/preview/remedies.js';
import type { MessageState } from '../outbound/outbox/message.js';
import { waitsForInWords } from '../telling/lists.js';
import { tellGroup } from '../words/words.js';
import { actionCommands } from './actions/action-commands.js';
import { type FilterOptions, filterOf, withFilters } from './actions/subjects.js';
import { type CommandApp, defined, inApp, jsonCommand, limitOption } from './command.js';
import { namingOf, noteAmbiguous } from './named-records.js';

export function outboxCommand(): Command {
  const outbox = jsonCommand(
    'outbox',
    'List the messages that wait, with their state and reason. Subcommands act on them.',
    'waybill outbox --state parked --group-by reason',
  );
  const list = withFilters(outbox)
    .addOption(new Option('--group-by <what>', 'count them by what they have in common').choices(groupings))
    .addOption(limitOption('how many to show', 50))
    // Without this, commander gives the options behind `retry` to this command, even those that retry does not know.
    .enablePositionalOptions()
    .action(inApp(listOutbox, { needsStore: true }));
  for (const one of actionCommands('outbox')) list.addCommand(one);
  return list;
}

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
    const counted = await store.read('count messages', (tx) => groupMessages(tx, filter, groupBy, limit));
    const mapping = await remedyMapping(app.settings);
    const groups = counted.map((one) => ({
      ...tellGroup(one),
      remedies: one.reason ? remediesFor(one.reason, one.entity, mapping) : [],
    }));
    output.jsonWithTimes(groups);
    if (groups.length === 0) return output.line('Nothing matches.');
    output.table(
      ['messages', groupBy, 'class', 'oldest since'],
      groups.map((g) => [g.count, shorten(g.group, 90), g.parkClass, output.time(g.oldestAt)]),
    );
    for (const { group, remedies } of groups)
      if (remedies.length > 0) output.lines('', `${shorten(group, 90)}:`, ...remedies.map((remedy) => `    ${remedy}`));
    return;
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
      const why = shorten(told(message.flag ?? message.reason, output), 60);
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

function told(fact: Fact | null, output: CommandApp['output']): string {
  return fact === null ? '' : output.tell(fact);
}
