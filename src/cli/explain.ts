import { Argument, type Command } from 'commander';
import type { Settings } from '../config/settings.js';
import { type Entity, settingsOf, sourceOf } from '../model/record.js';
import { shellWord } from '../model/shell-word.js';
import { type Explanation, explainRecord, readCaptured, standingInErp } from '../operator/explain-record.js';
import { type FindBy, findRecords, type NamedRecord } from '../operator/find-records.js';
import { remediesFor, remedyMapping } from '../operator/setup/preview/remedies.js';
import { describeHead } from '../telling/describe-head.js';
import { describeStory, type StoryInWords } from '../telling/describe-story.js';
import { describeUnknown } from '../telling/describe-unknown.js';
import { storyTimeline } from '../telling/story-timeline.js';
import { remedyFor } from '../words/words.js';
import { type CommandApp, exitCode, inApp, jsonCommand, sourceOption } from './command.js';
import { byOption, howToChoose, namingOf } from './named-records.js';
import type { Output } from './terminal/output.js';

export function explainCommand(): Command {
  return jsonCommand(
    'explain',
    'Tell the whole story of one record: where it is, why, what happened to it, and what you can do.',
    'waybill explain order 4711',
  )
    .addArgument(new Argument('<entity>', 'what it is').choices(['customer', 'order']))
    .argument('<key>', "the ERP's key, or the number that people know")
    .addOption(byOption('KEY'))
    .addOption(sourceOption())
    .action(inApp(explain, { needsStore: true }));
}

async function explain(app: CommandApp, { by = 'any' }: { by?: FindBy }, entity: Entity, key: string): Promise<number> {
  const found = await app.store.read('look for a record', (tx) => findRecords(tx, key, namingOf(app, by, entity)));
  const [record] = found;
  if (!record) return showUnknown(app, by, entity, key);
  if (found.length > 1) return showMatches(app.output, found, key);
  const { context, output } = app;
  const reader = await app.reader();
  const name = { entity, sourceKey: record.sourceKey, erpIdentity: reader.identity() };
  const explanation = await explainRecord(context, name);
  const { story, circumstances, audit } = explanation;
  const words = describeStory(story, { ...circumstances, time: output.time });
  const own = settingsOf(context.settings, sourceOf(record.sourceKey));
  const standing = story.left ? null : await standingInErp(reader, own, story);
  if (standing !== null) {
    words.why.push(`Now ${output.tell(standing)}.`);
    const remedy = remedyFor(standing, output);
    if (remedy !== null) words.todo.push({ text: remedy, command: null });
  }
  const { state, parkClass, reason } = story.messages.at(-1) ?? {};
  if (state === 'parked' && parkClass === 'unmapped' && reason) {
    const remedies = remediesFor(reason, entity, await remedyMapping(own));
    words.todo.push(...remedies.map((text) => ({ text: `In the settings: ${text}`, command: null })));
  }
  output.jsonWithTimes({ ...words, ...story, audit });
  showStory(output, explanation, words, app.settings);
  return exitCode.done;
}

function showStory(output: Output, explanation: Explanation, words: StoryInWords, settings: Settings): void {
  const { story, audit, olderAudit } = explanation;
  const { entity, sourceKey } = story;
  const head = describeHead(explanation, words, settings, output.time);
  output.lines(head.title, '');
  output.rows(10, head.rows);
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

function showMatches(output: Output, found: readonly NamedRecord[], key: string): number {
  output.json({ found: found.length, matches: found });
  output.line(`${key} is ambiguous: it names ${found.length} records:`);
  output.table(
    ['entity', 'key', 'number', 'named by'],
    found.map((record) => [record.entity, record.sourceKey, record.number, record.as.join(', ')]),
  );
  output.line(howToChoose(found));
  return exitCode.usage;
}

async function showUnknown(
  { context, output, source }: CommandApp,
  by: FindBy,
  entity: Entity,
  key: string,
): Promise<number> {
  const settings = settingsOf(context.settings, source ?? sourceOf(key));
  const captured = await readCaptured({ ...context, settings }, entity);
  const { lookedUp, hints } = describeUnknown({ entity, by }, captured, settings, output);
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
