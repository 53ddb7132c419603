import { type App, secretsOf } from '../../app.js';
import type { Entity } from '../../model/record.js';
import {
  countMessages,
  type Grouping,
  groupMessages,
  type ListedMessage,
  listMessages,
  type MessageFilter,
} from '../../operator/list-messages.js';
import type { MessageState, ParkClass } from '../../outbound/outbox/message.js';
import { type CommonOptions, exitCode } from '../command.js';
import { isoFormatter, timeFormatter } from '../terminal/format.js';
import { Output, shorten } from '../terminal/output.js';

export interface FilterOptions extends CommonOptions {
  state?: MessageState;
  entity?: Entity;
  key?: string[];
  class?: ParkClass;
  reasonLike?: string;
}

export interface ListOptions extends FilterOptions {
  groupBy?: Grouping;
  limit: number;
}

export interface ActionOptions extends FilterOptions {
  reason: string;
  yes?: boolean;
  delivered?: boolean;
  notDelivered?: boolean;
  serviceId?: string;
}

export function filterOf(options: FilterOptions): MessageFilter {
  return {
    ...(options.state ? { states: [options.state] } : {}),
    ...(options.entity ? { entity: options.entity } : {}),
    ...(options.key ? { keys: options.key } : {}),
    ...(options.class ? { parkClass: options.class } : {}),
    ...(options.reasonLike === undefined ? {} : { reasonLike: options.reasonLike }),
  };
}

const openOrParked: readonly MessageState[] = ['pending', 'sending', 'in_doubt', 'parked'];

/** The messages that match, the newest first, or how many there are of each kind. */
export async function listOutbox(app: App, options: ListOptions): Promise<number> {
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
