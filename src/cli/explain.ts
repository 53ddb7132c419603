import { Argument, type Command, Option } from 'commander';
import { type App, secretsOf } from '../app.js';
import { readAuditPage, startOfLast } from '../audit/read-audit.js';
import type { Settings } from '../config/settings.js';
import { currencyScale } from '../erp/mapping/money.js';
import type { Entity } from '../model/record.js';
import { describeStory, type StoryInWords } from '../operator/describe-story.js';
import { type FindBy, type FoundRecord, findRecords } from '../operator/find-records.js';
import { type OrderAtService, type RecordStory, tellStory } from '../operator/tell-story.js';
import { goLiveProblem } from '../outbound/deliver/go-live.js';
import { QuietClock } from '../outbound/deliver/quiet-hours.js';
import { readCursor } from '../store/cursors.js';
import { activePauses, listPauses } from '../store/lane-pauses.js';
import { type CommonOptions, describeCommand, exitCode, withApp } from './command.js';
import { storyTimeline } from './story-timeline.js';
import { formatAmount, timeFormatter, withIsoTimes } from './terminal/format.js';
import { Output } from './terminal/output.js';

/** What the service said of an order when it was read back, in words, a line each. Pure. */
export function orderAtService(
  { status, total, readAt, isFinal, goneAt, flag }: OrderAtService,
  time: (ms: number) => string,
  { currency, scale }: Pick<Settings['amounts'], 'currency' | 'scale'>,
): string[] {
  const amount =
    total === null ? '' : `, total ${formatAmount(total, scale ?? currencyScale(currency) ?? 0)} ${currency}`;
  const shown = status === null ? 'it was never shown' : `${JSON.stringify(status)}${amount}`;
  const last = status === null ? shown : `before that ${shown}`;
  return [
    goneAt === null
      ? `${shown}, read ${time(readAt)}${isFinal ? '; final, so it is not read any more' : ''}`
      : `not at the service any more since ${time(goneAt)}, looked for ${time(readAt)}; ${last}. Nothing is created again.`,
    ...(flag === null ? [] : [`to be looked at: ${flag}`]),
  ];
}

interface ExplainOptions extends CommonOptions {
  by: FindBy;
}

/** The newest lines of one record; older ones are a command away. */
const maxAuditLines = 500;

export function explainCommand(): Command {
  return describeCommand({
    name: 'explain',
    summary: 'The whole story of one record: where it is, why, what happened to it, and what you can do.',
    example: 'waybill explain order 4711',
    json: true,
  })
    .addArgument(new Argument('<entity>', 'what it is').choices(['customer', 'order']))
    .argument('<key>', "the ERP's key, or the number that people know")
    .addOption(
      new Option('--by <what>', 'what KEY is, where it could be both').choices(['any', 'key', 'number']).default('any'),
    )
    .action((entity: Entity, key: string, options: ExplainOptions) =>
      withApp('explain', options, (app) => explain(app, entity, key, options)),
    );
}

async function explain(app: App, entity: Entity, key: string, options: ExplainOptions): Promise<number> {
  const output = new Output(secretsOf(app.settings));
  const found = await app.store.read('look for a record', (tx) => findRecords(tx, entity, key, options.by));
  if (found.length > 1) return listMatches(output, found, key, options);
  const record = found[0];
  if (!record) return notFound(app, output, entity, key, options);

  const { settings, context, store } = app;
  const nowMs = context.nowMs();
  const time = timeFormatter(settings.erp.timeZone);
  const known = await store.read('tell the story of a record', async (tx) => {
    const filter = { records: [{ entity, sourceKey: record.sourceKey }] };
    const start = await startOfLast(tx, filter, maxAuditLines);
    return {
      story: await tellStory(tx, entity, record.sourceKey),
      audit: await readAuditPage(tx, filter, start.afterId, maxAuditLines),
      olderAudit: start.older,
      pauses: activePauses(
        [...(await listPauses(tx)), ...new QuietClock(settings.schedule).pauses(nowMs)],
        'deliver',
        nowMs,
      ),
      notLive: await goLiveProblem(tx, settings, app.reader().identity()),
    };
  });
  const words = describeStory(known.story, {
    nowMs,
    keyLifetimeMs: settings.service.idempotency.lifetimeHours * 3_600_000,
    pauses: known.pauses,
    notLive: known.notLive,
    time,
  });
  if (options.json) {
    const { story, audit } = known;
    await output.printJson(withIsoTimes({ ...words, ...story, audit }, settings.erp.timeZone));
    return exitCode.done;
  }
  await printHead(output, known.story, words, time, settings);
  await output.line();
  await output.line(`What happened (times in ${settings.erp.timeZone}):`);
  if (known.olderAudit || known.story.attemptsLeftOut > 0)
    await output.line(`  … older lines: waybill audit --entity ${entity} --key ${record.sourceKey} --csv`);
  for (const { at, text, more } of storyTimeline(known.story, known.audit)) {
    await output.line(`  ${time(at)}  ${text}`);
    for (const one of more) await output.line(`${' '.repeat(30)}${output.clean(one)}`);
  }
  if (words.todo.length > 0) {
    await output.line();
    await output.line('What you can do:');
    for (const { text, command } of words.todo) {
      await output.line(`  ${text}`);
      if (command) await output.line(`      ${command}`);
    }
  }
  return exitCode.done;
}

async function printHead(
  output: Output,
  story: RecordStory,
  words: StoryInWords,
  time: (ms: number) => string,
  settings: Settings,
): Promise<void> {
  const title = story.entity === 'order' ? 'Order' : 'Customer';
  await output.line(
    story.number === null
      ? `${title} ${story.sourceKey}`
      : `${title} ${story.number} (key ${story.sourceKey} in the ERP)`,
  );
  await output.line();
  await output.line(`Where:    ${words.where}`);
  for (const [i, why] of words.why.entries())
    await output.line(`${i === 0 ? 'Why:      ' : '          '}${output.clean(why)}`);
  await output.line(
    story.binding
      ? `Binding:  ${story.binding.serviceId} at the service, revision ${story.binding.revision}, acknowledged ${time(story.binding.acknowledgedAt)}`
      : `Binding:  ${isRemoved(story) ? 'none any more' : 'none; the service has acknowledged nothing of it yet'}`,
  );
  if (story.entity !== 'order' || !story.binding) return;
  const { atService } = story.binding;
  const isRead = settings.service.endpoints.readOrder !== undefined;
  const said = atService ? orderAtService(atService, time, settings.amounts) : isRead ? ['not read back yet'] : [];
  for (const [i, text] of said.entries())
    await output.line(`${i === 0 ? 'Service:  ' : '          '}${output.clean(text)}`);
}

async function listMatches(
  output: Output,
  found: readonly FoundRecord[],
  key: string,
  options: ExplainOptions,
): Promise<number> {
  if (options.json) await output.printJson({ found: found.length, matches: found });
  else {
    await output.line(`${key} names ${found.length} records:`);
    await output.table(
      ['entity', 'key', 'number'],
      found.map((record) => [record.entity, record.sourceKey, record.number]),
    );
    await output.line(
      options.by === 'any'
        ? 'Say which with its key: waybill explain … KEY --by key'
        : 'Say which with the key of the ERP.',
    );
  }
  return exitCode.usage;
}

async function notFound(
  app: App,
  output: Output,
  entity: Entity,
  key: string,
  options: ExplainOptions,
): Promise<number> {
  const { settings, store } = app;
  const lookedUp = [
    ...(options.by === 'number' ? [] : [`the ERP's key of ${entity === 'order' ? 'an order' : 'a customer'}`]),
    ...(options.by === 'key' || entity === 'customer' ? [] : ['an order number']),
    ...(options.by === 'any' ? ["the service's id"] : []),
  ];
  const cursor = await store.read('read the cursor', (tx) => readCursor(tx, entity));
  const hints: string[] = [];
  const { orders, customers } = settings;
  if (entity === 'order' && orders.startFrom !== 'all')
    hints.push(
      `Older than orders.startFrom (${orders.startFrom.column} from ${orders.startFrom.from}): such orders are never sent.`,
    );
  if (entity === 'customer' && customers.send === 'referenced')
    hints.push('No eligible order names it (customers.send is `referenced`): customers come along with their orders.');
  if (entity === 'customer' && customers.send === 'none')
    hints.push('customers.send is `none`: the service knows the customers already, Waybill sends none.');
  const { pending } = entity === 'order' ? orders : customers;
  if (pending) hints.push(`Not pending: the condition ${entity}s.pending (${pending}) does not hold for its row.`);
  hints.push(
    cursor.changedAt === null && cursor.sweptAt === null
      ? 'Not read yet: capture has not run on this store.'
      : `Not read yet: capture has read changes up to ${cursor.changedAt ?? '(no change column)'}${
          cursor.sweptAt === null ? '' : `, and everything on ${timeFormatter(settings.erp.timeZone)(cursor.sweptAt)}`
        }.`,
    'Written differently in the ERP: keys are compared letter by letter.',
  );
  const command = `waybill sync capture --dry-run --key ${key}`;
  if (options.json) await output.printJson({ found: 0, entity, key, lookedUp, hints });
  else {
    await output.line(`Nothing is known of ${entity} ${key}. Looked up as: ${lookedUp.join(', ')}.`);
    await output.line();
    await output.line('It may be:');
    for (const hint of hints) await output.line(`  - ${hint}`);
    if (entity === 'order') {
      await output.line();
      await output.line('What you can do:');
      await output.line('  See what capture makes of it (KEY is the key of the ERP here):');
      await output.line(`      ${command}`);
    }
  }
  return exitCode.failed;
}

function isRemoved({ messages }: RecordStory): boolean {
  const last = messages.at(-1);
  return last?.operation === 'delete' && last.state === 'delivered';
}
