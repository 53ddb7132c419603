import { Argument, type Command, Option } from 'commander';
import type { Settings } from '../config/settings.js';
import type { Entity } from '../model/record.js';
import { shellWord } from '../model/shell-word.js';
import { type Explanation, explainRecord, explainUnknown } from '../operator/explain-record.js';
import { type FindBy, type FoundRecord, findRecords } from '../operator/find-records.js';
import { storyTimeline } from '../operator/story-timeline.js';
import type { OrderAtService, RecordStory } from '../operator/tell-story.js';
import { type CommandApp, exitCode, inApp, jsonCommand } from './command.js';
import { amountWithCurrency } from './terminal/format.js';
import type { Output } from './terminal/output.js';

export function explainCommand(): Command {
  return jsonCommand(
    'explain',
    'Tell the whole story of one record: where it is, why, what happened to it, and what you can do.',
    'waybill explain order 4711',
  )
    .addArgument(new Argument('<entity>', 'what it is').choices(['customer', 'order']))
    .argument('<key>', "the ERP's key, or the number that people know")
    .addOption(
      new Option('--by <what>', 'what KEY is, where it could be both').choices(['any', 'key', 'number']).default('any'),
    )
    .action(inApp(explain));
}

async function explain(app: CommandApp, { by }: { by: FindBy }, entity: Entity, key: string): Promise<number> {
  const found = await app.store.read('look for a record', (tx) => findRecords(tx, entity, key, by));
  const [record] = found;
  if (!record) return showUnknown(app, by, entity, key);
  if (found.length > 1) return showMatches(app.output, found, key, by);
  const { context, output } = app;
  const name = { entity, sourceKey: record.sourceKey, erpIdentity: (await app.reader()).identity() };
  const explanation = await explainRecord(context, name, output.time);
  const { words, story, audit } = explanation;
  output.jsonWithTimes({ ...words, ...story, audit });
  showStory(output, explanation, app.settings);
  return exitCode.done;
}

function showStory(output: Output, explanation: Explanation, settings: Settings): void {
  const { story, words, audit, olderAudit } = explanation;
  const { entity, sourceKey } = story;
  showHead(output, explanation, settings);
  output.lines(
    '',
    `What happened (times in ${settings.erp.timeZone}):`,
    (olderAudit || story.attemptsLeftOut > 0) &&
      `  … older lines: waybill audit --entity ${entity} --key ${shellWord(sourceKey)} --csv`,
  );
  for (const { at, text, more } of storyTimeline(story, audit, output.time)) {
    output.lines(`  ${output.time(at)}  ${text}`, ...more.map((one) => `${' '.repeat(30)}${one}`));
  }
  if (words.todo.length === 0) return;
  output.lines('', 'What you can do:');
  for (const { text, command } of words.todo) output.lines(`  ${text}`, command && `      ${command}`);
}

function showHead(output: Output, { story, words, currency }: Explanation, settings: Settings): void {
  const { where, why } = words;
  const { entity, sourceKey, number, binding } = story;
  const title = entity === 'order' ? 'Order' : 'Customer';
  output.lines(number === null ? `${title} ${sourceKey}` : `${title} ${number} (key ${sourceKey} in the ERP)`, '');
  const bound = binding
    ? `${binding.serviceId} at the service, revision ${binding.revision}, acknowledged ${output.time(binding.acknowledgedAt)}`
    : isRemoved(story)
      ? 'none any more'
      : 'none; the service has not acknowledged the record yet';
  const rows: [string, ...string[]][] = [
    ['Where:', where],
    ['Why:', ...why],
    ['Binding:', bound],
  ];
  const writeAmount = (minor: number) => amountWithCurrency(settings.amounts, minor, currency);
  if (entity === 'order' && binding?.atService)
    rows.push(['Service:', ...orderAtService(binding.atService, output.time, writeAmount)]);
  else if (entity === 'order' && binding && settings.service.endpoints.readOrder)
    rows.push(['Service:', 'not read back yet']);
  output.rows(10, rows);
}

/** What the service said of an order when Waybill read it back, a line each. */
function orderAtService(
  { status, total, readAt, isFinal, goneAt, flag }: OrderAtService,
  time: (ms: number) => string,
  writeAmount: (minor: number) => string,
): string[] {
  const amount = total === null ? '' : `, total ${writeAmount(total)}`;
  const shown = status === null ? 'it was never shown' : `${JSON.stringify(status)}${amount}`;
  return [
    goneAt === null
      ? `${shown}, read ${time(readAt)}${isFinal ? '; final, so Waybill does not read it any more' : ''}`
      : `not at the service any more since ${time(goneAt)}, looked for ${time(readAt)}; ${status === null ? shown : `before that ${shown}`}. Nothing is created again.`,
    ...(flag === null ? [] : [`to be looked at: ${flag}`]),
  ];
}

function showMatches(output: Output, found: readonly FoundRecord[], key: string, by: FindBy): number {
  output.json({ found: found.length, matches: found });
  output.line(`${key} names ${found.length} records:`);
  output.table(
    ['entity', 'key', 'number'],
    found.map((record) => [record.entity, record.sourceKey, record.number]),
  );
  output.line(by === 'any' ? 'Name one by its key: waybill explain … KEY --by key' : 'Name one by its key in the ERP.');
  return exitCode.usage;
}

async function showUnknown({ context, output }: CommandApp, by: FindBy, entity: Entity, key: string): Promise<number> {
  const { lookedUp, hints } = await explainUnknown(context, entity, by, output.time);
  output.json({ found: 0, entity, key, lookedUp, hints });
  output.line(`Waybill knows nothing of ${entity} ${key}. Looked up as: ${lookedUp.join(', ')}.`);
  output.lines('', 'Possible reasons:', ...hints.map((hint) => `  - ${hint}`));
  if (entity === 'order')
    output.lines(
      '',
      'What you can do:',
      '  See what capture makes of it (KEY is the key of the ERP here):',
      `      waybill preview --key ${shellWord(key)}`,
    );
  return exitCode.failed;
}

function isRemoved({ messages }: RecordStory): boolean {
  const last = messages.at(-1);
  return last?.operation === 'delete' && last.state === 'delivered';
}
