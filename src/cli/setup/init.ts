import { randomBytes } from 'node:crypto';
import { resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { openApp } from '../../app.js';
import { databaseKinds } from '../../config/sections/database-kinds.js';
import type { Settings } from '../../config/settings.js';
import { ErpError } from '../../erp/erp-reader.js';
import { columnRoles, type SetupAnswers } from '../../model/setup-questions.js';
import type { Places } from '../../operator/setup/init/compose-settings.js';
import { NoTables, type Proposal, reachErp, Setup, type SetupState } from '../../operator/setup/init/init.js';
import { presetNames } from '../../operator/setup/init/presets/presets.js';
import { type Preview, previewRecords } from '../../operator/setup/preview/preview-records.js';
import type { ShownOrder } from '../../operator/setup/preview/show-order.js';
import { evidenceInWords, setupNoteInWords, setupQuestionInWords } from '../../words/en/setup.js';
import {
  allOptions,
  type CommonOptions,
  configFlag,
  exitCode,
  jsonCommand,
  positiveInteger,
  repeatable,
  UsageError,
} from '../command.js';
import { Output } from '../terminal/output.js';
import { ask, hideFromErrors, write, writeError } from '../terminal/streams.js';
import { askOnTerminal, refuseWrong } from './ask-setup.js';
import { type InitDraft, readDraft, removeDraft, saveDraft } from './init-draft.js';
import { type ConfigurationPlace, configurationPlace, writeConfiguration } from './init-files.js';
import { type GivenPlaces, settingsChecker, settlePlaces } from './init-places.js';
import { InitError, Interview, type Question } from './interview.js';
import { orderInWords, printCauses, printTotals } from './preview.js';

type InitOptions = CommonOptions & GivenPlaces & { yes?: boolean } & Record<string, unknown>;

/** Flags that answer a question each, and what they say in the help. */
const answers: readonly (readonly [flag: string, description: string])[] = [
  ['--table-prefix <prefix>', 'the tables that begin so, where a known ERP is there several times'],
  ['--orders-table <table>', 'the table of the sales orders, in an ERP that init does not know'],
  ['--lines-table <table>', 'the table of their lines'],
  ['--customers-table <table>', 'the table of the customers'],
  ['--time-zone <zone>', 'time zone of the dates in the ERP, such as Europe/Berlin'],
  ['--company <value>', 'only the orders of this company, where the database serves several'],
  ['--money-unit <unit>', 'major or minor: what whole numbers are, 1999.00 or 19.99'],
  ['--discount <unit>', 'percent, fraction or none: what the discount beside the price of a line takes off'],
  ['--currency <code>', 'only the orders in this currency, such as EUR'],
  ['--status <values>', 'the states of the orders that may be sent, with commas between them; or all'],
  ['--cancelled <values>', 'the states that mean that an order is cancelled; or none'],
  ['--completed <values>', 'the states that mean that nothing more happens to an order; or none'],
  ['--on-deleted <what>', 'nothing or delete: what to do at the service when an order is deleted in the ERP'],
  ['--guests <what>', 'wait or leave-out: orders without a customer'],
  ['--pending <condition>', 'which orders may be sent, as an SQL condition on the columns of the orders query; or all'],
  ['--start-from <date>', 'older orders are never sent; a key where no column holds dates; or all'],
  ['--text-lines <sku>', 'the SKU for lines without one; or skip'],
  ['--installation <name>', 'a name for this installation, which no other has'],
];

/** Flags that can be given several times. */
const lists: readonly (readonly [flag: string, description: string])[] = [
  ['--column <role=column>', `the column for a role: ${columnRoles.join(', ')}`],
  ['--customer-fields <field=column>', 'a field of the customers that is sent, such as email=mail; or none'],
  [
    '--orders-with <column=values>',
    'send only orders with these values in a column; none: no column beside the status matters',
  ],
  ['--lines-with <column=values>', 'send only lines with these values in a column; none: send all of them'],
];

export function initCommand(): Command {
  const command = jsonCommand(
    'init',
    'Look at an ERP database, ask what it does not say, and write config/local.yaml. It writes nothing into the ERP, and over no configuration.',
    'waybill init --type mysql --database dolibarr --user waybill_reader --time-zone Europe/Berlin --start-from 2026-01-01 --yes',
  )
    .addOption(new Option('--type <type>', 'kind of database').choices(databaseKinds.map(({ value }) => value)))
    .option('--host <host>', 'server of the ERP database (default: 127.0.0.1)')
    .option('--port <n>', 'its port', positiveInteger)
    .option('--database <name>', 'name of the ERP database')
    .option('--user <name>', 'an account that may only read')
    .option('--password-file <file>', 'file that holds its password (else $WAYBILL_ERP_PASSWORD, else it is asked for)')
    .option('--file <file>', 'the ERP, where it is a SQLite file')
    .addOption(new Option('--tls <mode>', 'secure connection to the server').choices(['required', 'off']))
    .option('--tls-ca-file <file>', 'certificates of the authorities to trust for it')
    .addOption(
      new Option('--preset <name>', 'take the ERP for this one; none: as one that is not known').choices([
        ...presetNames,
        'none',
      ]),
    );
  for (const [flag, description] of lists) command.addOption(repeatable(flag, description));
  for (const [flag, description] of answers) command.option(flag, description);
  return command
    .option('--service-url <url>', 'address of the service (default: that of `waybill sandbox`)')
    .option('--token-file <file>', 'file that holds its token (else $WAYBILL_SERVICE_TOKEN, else it is asked for)')
    .option('--key-lifetime-hours <n>', 'how long the service remembers an idempotency key', positiveInteger)
    .option('--yes', 'ask nothing: write the file if every question has an answer, else list the open ones')
    .action((_options, self: Command) => init(allOptions<InitOptions>(self)));
}

async function init(options: InitOptions): Promise<void> {
  const output = new Output(options);
  if (!options.yes && !process.stdin.isTTY)
    throw new UsageError('There is no terminal to ask on: give the answers as flags, and --yes.');
  const place = configurationPlace(options.config);
  const given = answersOf(options);
  const draft = options.yes ? null : await takenUp(place);
  const interview = new Interview(
    new Map([...Object.entries(draft?.places ?? {}), ...flagsOf(options)]),
    options.yes ? null : (question) => askOn(output, question),
  );
  try {
    const places = await settlePlaces(interview, options, place, options.yes ? null : whyAway);
    if (!places) {
      showOpen(output, interview, null);
      return;
    }
    const settingsOf = settingsChecker(places);
    const suggestedName = `${places.name}-${randomBytes(3).toString('hex')}`;
    const setup = await Setup.open({ places: places.settings, settingsOf, suggestedName, now: () => Date.now() });
    let state: SetupState;
    try {
      const isSame = draft === null || isOfPlace(draft, placesOf(interview));
      if (!isSame) writeError('The answers of the last init are for another database. They are asked anew.');
      const kept = new Map(isSame ? Object.entries(draft?.answers ?? {}) : []);
      const save = (said: SetupAnswers) => saveDraft(place, placesOf(interview), said);
      state = options.yes
        ? await withoutAsking(setup, given)
        : await askOnTerminal(setup, { output, given, kept, save });
    } finally {
      await setup.close();
    }
    const { proposal } = state;
    if (proposal === null || interview.open.length > 0) {
      showOpen(output, interview, state);
      return;
    }
    const settings = settingsOf(proposal.settings);
    const preview = await previewOf(settings);
    show(output, settings, { interview, state, proposal, preview });
    if (!options.yes && !/^(y(es)?)?$/i.test(await ask(`Write ${place.file}? [Y/n]`))) {
      output.line('Nothing was written. The answers are kept for the next init.');
      process.exitCode = exitCode.failed;
      return;
    }
    const files = await writeConfiguration(place, places, proposal);
    await removeDraft(place);
    const { orders, customers, totals, causes } = preview.found;
    output.json({
      ...{
        written: true,
        files,
        erp: proposal.draft.title,
        settled: settledOf(interview, state),
        grants: proposal.grants,
      },
      ...{ shown: preview.shown, orders, customers, totals, causes },
    });
    showWritten(output, proposal, files, options);
    process.exitCode = orders.create + orders.update + orders.unchanged === 0 ? exitCode.waitsForPerson : exitCode.done;
  } catch (error) {
    if (error instanceof InitError) throw new UsageError(error.message);
    if (error instanceof NoTables)
      throw new UsageError(`${error.database} has no tables, or none that this account may read.`);
    throw error instanceof ErpError && error.lines === undefined ? inFlags(error) : error;
  }
}

/** The draft of an earlier run, if the person goes on with it. */
async function takenUp(place: ConfigurationPlace): Promise<InitDraft | null> {
  const draft = readDraft(place);
  if (draft === null || /^(y(es)?)?$/i.test(await ask('Go on with the answers of the last init? [Y/n]'))) return draft;
  await removeDraft(place);
  return null;
}

/** The options that say where the ERP is, for the draft. They hold no secret, and nothing of the service. */
const placesOf = ({ answers }: Interview): InitDraft['places'] =>
  Object.fromEntries(
    Object.entries(answers)
      .filter(([name]) => ['type', 'host', 'port', 'database', 'user', 'file'].includes(name))
      .map(([name, value]) => [name, name === 'file' ? resolve(value) : value]),
  );

/** Another database may mean something else by the same names and values. The account makes no difference. */
const isOfPlace = ({ places }: InitDraft, now: InitDraft['places']): boolean =>
  ['type', 'host', 'port', 'database', 'file'].every((name) => places[name] === now[name]);

/** Only names that set-up makes up, and an ERP that it recognises, are answered by --yes. */
async function withoutAsking(setup: Setup, given: SetupAnswers): Promise<SetupState> {
  const said = new Map(given);
  for (;;) {
    const state = await setup.look(said);
    refuseWrong(state);
    const suggested = state.open.find(({ suggestion }) => suggestion !== undefined);
    if (suggested?.suggestion === undefined) return state;
    said.set(suggested.flag, [suggested.suggestion]);
  }
}

/** Why the ERP is not to be reached so, or null. */
async function whyAway(places: Places, settingsOf: (tree: unknown) => Settings): Promise<string | null> {
  try {
    await reachErp({ places, settingsOf });
    return null;
  } catch (error) {
    if (error instanceof ErpError) return inFlags(error).message;
    throw error;
  }
}

/** A failure of the ERP in the words of the command line: no setting is there yet, and nothing is tried again. */
function inFlags({ kind, message, detail, cause }: ErpError): ErpError {
  const again = message.startsWith('Could not connect') ? 'Check --type, --host and --port.' : 'Try it again.';
  const words = message
    .replaceAll(/\berp\.(host|port|user|database)\b/g, '--$1')
    .replaceAll('erp.tls.mode: off', '--tls off')
    .replaceAll(/erp\.tls\.caFile( and erp\.tls\.serverName)?/g, '--tls-ca-file')
    .replaceAll('; it is tried again later.', '. Try it again.')
    .replaceAll('It is tried again later.', again);
  return new ErpError(kind, words, { cause, detail });
}

const kebab = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** The flags about places. */
function flagsOf(options: InitOptions): [string, string][] {
  return Object.entries(options).flatMap(([name, value]) =>
    typeof value === 'string' || typeof value === 'number' ? [[kebab(name), `${value}`]] : [],
  );
}

/** The answers that the flags give: by the role of a column, else by the flag. @throws UsageError */
function answersOf(options: InitOptions): SetupAnswers {
  const given = new Map<string, string[]>();
  const names = [...answers, ...lists].map(([flag]) => flag.slice(2).split(' ')[0] ?? '');
  for (const [option, value] of Object.entries(options)) {
    const name = kebab(option);
    if (name === 'column' || !(names.includes(name) || name === 'preset')) continue;
    given.set(name, Array.isArray(value) ? value : [`${value}`]);
  }
  for (const text of Array.isArray(options.column) ? options.column : []) {
    const [, role = '', column = ''] = /^([a-zA-Z.]+)=(.+)$/.exec(text) ?? [];
    if (!columnRoles.some((one) => one === role))
      throw new UsageError(`--column ${text}: write ROLE=COLUMN; the roles are ${columnRoles.join(', ')}.`);
    given.set(role, [column]);
  }
  return given;
}

async function askOn(output: Output, { text, choices = [], suggestion }: Question): Promise<string> {
  writeError(...choices.map(({ value, note }) => `  ${output.clean(note ? `${value}: ${note}` : value)}`));
  return ask(suggestion === undefined ? text : `${text} [${suggestion}]`);
}

/** The open questions, each with the flag that answers it. @param state null: the place of the ERP is open */
function showOpen(output: Output, interview: Interview, state: SetupState | null): void {
  const asked = (state?.open ?? []).filter(({ isOptional }) => !isOptional);
  const open = [
    ...interview.open.map((one): Question & { role?: string } => one),
    ...asked.map((question) => {
      const { flag: name, role, candidates } = question;
      const choices = candidates.map(({ value, evidence }) => ({
        value,
        note: evidence.map(evidenceInWords).join(', '),
      }));
      return {
        ...{ name, ...(role && { role }), text: setupQuestionInWords(question) },
        ...(choices.length > 0 && { choices: choices.map(({ value, note }) => ({ value, ...(note && { note }) })) }),
      };
    }),
  ];
  const settled = settledOf(interview, state);
  output.json({ written: false, open, settled });
  output.line(`Nothing was written: ${open.length === 1 ? 'one question is' : `${open.length} questions are`} open.`);
  for (const { name, role, text, choices = [] } of open) {
    const value = role === undefined ? '' : ` ${role}=NAME`;
    output.line(`--${name}${value}: ${text}`);
    output.lines(...choices.map(({ value, note }) => `    ${value}${note ? `: ${note}` : ''}`));
  }
  if (asked.length > 0) output.line('Some answers lead to other questions: init asks for those once these are known.');
  showSettled(output, settled);
  process.exitCode = exitCode.usage;
}

type Settled = Interview['settled'];

const settledOf = ({ settled }: Interview, state: SetupState | null): Settled => [
  ...settled,
  ...(state?.notes ?? []).filter(({ code }) => code !== 'tables').map(setupNoteInWords),
];

function showSettled(output: Output, settled: Settled): void {
  output.rows(
    12,
    settled.map(({ name, value, reason }) => [name, `${value} (${reason})`]),
  );
}

const READ = 300;
const SHOWN = 3;

interface PreviewWithOrders {
  found: Preview;
  /** The first orders that can be sent. */
  shown: readonly ShownOrder[];
}

/** Preview of the records that these settings send, as `waybill preview` shows it. */
async function previewOf(settings: Settings): Promise<PreviewWithOrders> {
  const app = await openApp({ settings, role: 'init', log: 'stderr', readOnly: 'if-any', hide: hideFromErrors });
  try {
    const shown: ShownOrder[] = [];
    const onOrder = (order: ShownOrder) => {
      // Those that can be sent show what the service would get.
      if (order.body !== null && shown.length < SHOWN) shown.push(order);
    };
    const reader = await app.reader();
    await reader.check();
    const found = await previewRecords(app.context, reader, { limit: READ, onOrder });
    return { found, shown };
  } finally {
    await app.close();
  }
}

function show(
  output: Output,
  settings: Settings,
  {
    interview,
    state,
    proposal,
    preview,
  }: { interview: Interview; state: SetupState; proposal: Proposal; preview: PreviewWithOrders },
): void {
  const { found, shown } = preview;
  output.line(`These are the tables of ${proposal.draft.title}.`);
  showSettled(output, settledOf(interview, state));
  output.line();
  if (!output.isJson) for (const order of shown) write(orderInWords(order, output, settings));
  const { read, create, update, unchanged, parked } = found.orders;
  output.line(
    read === 0
      ? 'No order fits these answers yet.'
      : `Of the first ${read} orders ${create + update + unchanged} can be sent, ${parked} can not.`,
  );
  printTotals(output, found, settings);
  printCauses(output, found);
}

function showWritten(output: Output, { grants }: Proposal, files: readonly string[], options: CommonOptions): void {
  output.lines(
    '',
    `Written: ${files.join(', ')}`,
    ...(grants.length > 0 ? ['', 'For an account that can only read:', ...grants.map((grant) => `  ${grant}`)] : []),
    '',
    `Look at it: waybill preview${configFlag(options)}`,
  );
}
