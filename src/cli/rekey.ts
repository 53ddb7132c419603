import type { Command } from 'commander';
import type { ErpReader } from '../erp/erp-reader.js';
import { openErpReader } from '../erp/open-erp.js';
import {
  checkKeys,
  keepKeys,
  planRekey,
  type RekeyPlan,
  rekey,
  whyNotSame,
  whyStillHeld,
  withEveryRecord,
} from '../operator/actions/rekey.js';
import { type RecordRekey, rekeyRecord } from '../operator/actions/rekey-record.js';
import type { FindBy } from '../operator/find-records.js';
import { tell } from '../words/words.js';
import {
  atSource,
  type CommandApp,
  confirm,
  entityOf,
  exitCode,
  inApp,
  jsonCommand,
  type Plural,
  pluralArgument,
  sourceOption,
  UsageError,
} from './command.js';
import { byOption, keysMeantBy } from './named-records.js';
import { readNamedRecords } from './record-list.js';

const maxNamed = 10;

interface RekeyOptions {
  same?: boolean;
  file?: string;
  restIsNew?: boolean;
  dryRun?: boolean;
  yes?: boolean;
  reason: string;
  by?: FindBy;
}

export function rekeyCommand(): Command {
  return jsonCommand(
    'rekey',
    'After the ERP database or a key column changed: give the known records their new keys, or say that the keys are the same.',
    'waybill rekey orders --dry-run',
  )
    .addArgument(pluralArgument('<entity>', 'whose keys'))
    .argument('[old]', 'the key of one known record, whose row has another key now')
    .argument('[new]', 'the key that its row has now')
    .addOption(byOption('OLD'))
    .addOption(sourceOption())
    .option('--same', 'each key still names the same record; Waybill checks a sample')
    .option(
      '--file <csv>',
      'two columns for records that nothing else tells apart: the new key, and the id at the service',
    )
    .option('--rest-is-new', 'rows of the ERP that are none of the known records are new ones: send them')
    .option('--dry-run', 'show what would be done; write nothing')
    .option('--yes', 'do not ask')
    .option('--reason <text>', 'why, for the audit', 'no reason given')
    .action(inApp(rekeyRecords, { needsStore: true }));
}

async function rekeyRecords(
  app: CommandApp,
  options: RekeyOptions,
  plural: Plural,
  from?: string,
  to?: string,
): Promise<number> {
  if (from !== undefined && to === undefined)
    throw new UsageError('Give both keys of the record: the old and the new.');
  const isOne = from !== undefined && to !== undefined;
  if (isOne && (options.same || options.file !== undefined || options.restIsNew))
    throw new UsageError('--same, --file and --rest-is-new are for all keys at once. Leave them out, or the two keys.');
  const reader = await app.reader();
  await reader.check();
  if (options.same) return keepSame(app, options, plural);
  if (isOne) {
    const entity = entityOf(plural);
    const [old = app.keyOf(from)] = await keysMeantBy(app, [from], options.by, entity);
    return changeKey(app, reader, options, { entity, from: old, to: app.keyOf(to) });
  }
  const every = await openErpReader(withEveryRecord(app.settings));
  try {
    return await changeKeys(app, { reader, every }, options, plural);
  } finally {
    await every.close();
  }
}

/** The settings say so; a record that was renamed in the ERP is another matter. */
const unchanged = (plural: Plural) =>
  `The key columns and the ERP of ${plural} are what they were. For single records that have other keys now: waybill rekey ${plural} OLD NEW`;

async function keepSame(app: CommandApp, { dryRun, yes, reason }: RekeyOptions, plural: Plural) {
  const { output } = app;
  const { context, reader } = await atSource(app);
  const entity = entityOf(plural);
  const check = await checkKeys(context, reader, entity);
  const { change, formerName, asked, found, same } = check;
  const problem = whyNotSame(check);
  const answer = (changed: boolean) => output.json({ entity, changed, problem, ...check });
  if (change === null) {
    answer(false);
    output.line(unchanged(plural));
    return exitCode.done;
  }
  output.lines(
    `The keys of ${plural} were ${output.tell(change)}.`,
    `Of ${asked} delivered ${plural}, ${found} are in the ERP under their keys; ${same} proved to be the same.`,
  );
  if (problem !== null || dryRun) {
    answer(false);
    const advice = ` Put the settings back, or, if the keys have other values now: waybill rekey ${plural}`;
    if (problem !== null) output.line(`Not done: ${output.tell(problem)}.${formerName === null ? advice : ''}`);
    return problem === null ? exitCode.done : exitCode.failed;
  }
  const question =
    formerName === null
      ? 'Does each key still name the same record?'
      : `Are all ${plural} of this source other records than those of ${formerName}?`;
  if (!(await confirm(question, yes))) return exitCode.failed;
  await keepKeys(context, reader.identity(), entity, change, reason);
  answer(true);
  output.line(`Done. ${await whatFollows(app)}`);
  return exitCode.done;
}

/** Capture and delivery go on where the keys of the other kind are known too, and the ERP is the one that went live. */
async function whatFollows(app: CommandApp): Promise<string> {
  const { context, reader } = await atSource(app);
  const problem = await whyStillHeld(context, reader.identity());
  return problem === null ? 'Capture and delivery go on.' : `Still held: ${app.output.tell(problem)}.`;
}

async function changeKey(
  { context, output }: CommandApp,
  reader: ErpReader,
  { dryRun = false, yes, reason }: RekeyOptions,
  keys: Pick<RecordRekey, 'entity' | 'from' | 'to'>,
): Promise<number> {
  const { entity, from, to } = keys;
  const found = await rekeyRecord(context, reader, { ...keys, reason, dryRun: true });
  const { serviceId, number, closed } = found;
  output.lines(
    `${entity} ${from}${number === null ? '' : ` (${number})`} is ${serviceId ?? 'not known'} at the service, and ${to} in the ERP now.`,
    closed > 0 && `${closed} waiting messages, never sent, are closed: they said that ${to} is new, or ${from} gone.`,
  );
  const answer = (changed: boolean) => output.json({ ...keys, changed, ...found });
  if (dryRun) {
    answer(false);
    return exitCode.done;
  }
  if (!(await confirm('Is it the same record?', yes))) return exitCode.failed;
  await rekeyRecord(context, reader, { ...keys, reason, dryRun: false });
  answer(true);
  output.line('Done. Export the bindings now: a lost store is recovered by them alone.');
  return exitCode.done;
}

async function changeKeys(
  app: CommandApp,
  readers: { reader: ErpReader; every: ErpReader },
  { file, restIsNew = false, dryRun = false, yes, reason }: RekeyOptions,
  plural: Plural,
): Promise<number> {
  const { context, output } = app;
  const named = await readNamed(file);
  const request = { ...readers, entity: entityOf(plural), named, isRestNew: restIsNew, reason };
  const plan = await planRekey(context, request);
  const answer = (changed: boolean) =>
    output.json({ entity: request.entity, changed, ...plan, matches: plan.matches.size });
  if (plan.change === null) {
    answer(false);
    output.line(unchanged(plural));
    return exitCode.done;
  }
  showRekey(app, plan, plural);
  if (plan.problem !== null || dryRun) {
    answer(false);
    if (plan.problem !== null) output.line(`Not done: ${output.tell(plan.problem)}.`);
    return plan.problem === null ? exitCode.done : exitCode.failed;
  }
  if (!(await confirm(`Give ${plan.matches.size} ${plural} their new keys?`, yes))) return exitCode.failed;
  await rekey(context, request);
  answer(true);
  output.line(
    `Done. ${await whatFollows(app)} Export the bindings now: a lost store is recovered by them alone, as the keys at the service are still made of the old ones.`,
  );
  return exitCode.done;
}

function showRekey(
  { output }: CommandApp,
  { change, matches, ambiguous, gone, unknown }: RekeyPlan,
  plural: Plural,
): void {
  const some = (keys: readonly string[]) =>
    `${keys.slice(0, maxNamed).join(', ')}${keys.length > maxNamed ? ` and ${keys.length - maxNamed} more` : ''}`;
  output.lines(
    change && `The keys of ${plural} were ${output.tell(change)}.`,
    `${matches.size} known ${plural} were found by what never changes of them:`,
    ...[...matches].slice(0, maxNamed).map(([from, to]) => `  ${from} is ${to} now`),
    ...ambiguous
      .slice(0, maxNamed)
      .map(({ from, to }) => `Nothing tells which of ${some(from)} is which of ${some(to)} now.`),
    gone.length > 0 &&
      `${gone.length} are not in the ERP: ${some(gone.map(({ sourceKey }) => sourceKey))}. What waits of them goes out as it is; nothing follows from their absence.`,
    unknown.length > 0 && `${unknown.length} rows to be sent are none of these: ${some(unknown)}`,
  );
}

/** New key → id at the service. */
async function readNamed(file: string | undefined): Promise<Map<string, string>> {
  if (file === undefined) return new Map();
  const { idByKey, unusable } = await readNamedRecords(file, 2);
  const [wrong] = unusable;
  if (wrong) throw new UsageError(`${file}, ${wrong.key}: ${tell(wrong.problem)}.`);
  return idByKey as Map<string, string>;
}
