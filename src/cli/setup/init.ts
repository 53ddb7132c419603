import { randomBytes } from 'node:crypto';
import { type Command, Option } from 'commander';
import { openApp } from '../../app.js';
import { databaseKinds } from '../../config/sections/database-kinds.js';
import type { Settings } from '../../config/settings.js';
import { ErpError } from '../../erp/erp-reader.js';
import type { Places } from '../../operator/setup/init/compose-settings.js';
import type { GivenColumns } from '../../operator/setup/init/find-columns.js';
import { type Proposal, propose, reachErp } from '../../operator/setup/init/init.js';
import { InitError, Interview, type Question } from '../../operator/setup/init/interview.js';
import { presetNames } from '../../operator/setup/init/presets/presets.js';
import { type ColumnRole, columnRoles } from '../../operator/setup/init/words.js';
import { type Preview, previewRecords } from '../../operator/setup/preview/preview-records.js';
import type { ShownOrder } from '../../operator/setup/preview/show-order.js';
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
import { configurationPlace, writeConfiguration } from './init-files.js';
import { type GivenPlaces, settingsChecker, settlePlaces } from './init-places.js';
import { orderInWords, printCauses, printTotals } from './preview.js';

type InitOptions = CommonOptions &
  GivenPlaces & {
    yes?: boolean;
    preset?: string;
    column?: string[];
    ordersWith?: string[];
    linesWith?: string[];
  } & Record<string, unknown>;

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
  ['--pending <condition>', 'the same as an SQL condition on the columns of the orders query; or all'],
  ['--start-from <date>', 'older orders are never sent; a key where no column holds dates; or all'],
  ['--text-lines <sku>', 'the SKU for lines without one; or skip'],
  ['--installation <name>', 'a name for this installation, which no other has'],
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
    )
    .addOption(repeatable('--column <role=column>', `the column for a role: ${columnRoles.join(', ')}`))
    .addOption(
      repeatable(
        '--orders-with <column=values>',
        'send only orders with these values in a column; none: no column beside the status matters',
      ),
    )
    .addOption(
      repeatable(
        '--lines-with <column=values>',
        'send only lines with these values in a column; none: send all of them',
      ),
    );
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
  const given = new Map(
    Object.entries(options).flatMap(([name, value]) =>
      typeof value === 'string' || typeof value === 'number' ? [[kebab(name), `${value}`]] : [],
    ),
  );
  const interview = new Interview(given, options.yes ? null : (question) => askOn(output, question));
  try {
    const places = await settlePlaces(interview, options, place, options.yes ? null : whyAway);
    const proposal =
      places &&
      (await propose({
        interview,
        places: places.settings,
        given: {
          columns: columnsOf(options.column ?? []),
          ...{ ordersWith: options.ordersWith ?? [], linesWith: options.linesWith ?? [] },
        },
        preset: options.preset,
        settingsOf: settingsChecker(places),
        suggestedName: `${places.name}-${randomBytes(3).toString('hex')}`,
      }));
    if (!places || !proposal) {
      showOpen(output, interview);
      return;
    }
    const settings = settingsChecker(places)(proposal.settings);
    const preview = await previewOf(settings);
    show(output, settings, { interview, proposal, preview });
    if (!options.yes && !/^(y(es)?)?$/i.test(await ask(`Write ${place.file}? [Y/n]`))) {
      output.line('Nothing was written.');
      process.exitCode = exitCode.failed;
      return;
    }
    const files = await writeConfiguration(place, places, proposal);
    const { orders, customers, totals, causes } = preview.found;
    output.json({
      ...{ written: true, files, erp: proposal.draft.title, settled: interview.settled, grants: proposal.grants },
      ...{ shown: preview.shown, orders, customers, totals, causes },
    });
    showWritten(output, proposal, files, options);
    process.exitCode = orders.create + orders.update + orders.unchanged === 0 ? exitCode.waitsForPerson : exitCode.done;
  } catch (error) {
    if (error instanceof InitError) throw new UsageError(error.message);
    throw error instanceof ErpError && error.lines === undefined ? inFlags(error) : error;
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

/** @throws UsageError */
function columnsOf(given: readonly string[]): GivenColumns {
  return Object.fromEntries(
    given.map((text) => {
      const [, role = '', column = ''] = /^([a-zA-Z.]+)=(.+)$/.exec(text) ?? [];
      if (!columnRoles.includes(role as ColumnRole))
        throw new UsageError(`--column ${text}: write ROLE=COLUMN; the roles are ${columnRoles.join(', ')}.`);
      return [role, column];
    }),
  );
}

async function askOn(output: Output, { text, choices = [], suggestion }: Question): Promise<string> {
  writeError(...choices.map(({ value, note }) => `  ${output.clean(note ? `${value}: ${note}` : value)}`));
  return ask(suggestion === undefined ? text : `${text} [${suggestion}]`);
}

/** The open questions, each with the flag that answers it. */
function showOpen(output: Output, { open, settled }: Interview): void {
  output.json({ written: false, open, settled });
  output.line(`Nothing was written: ${open.length === 1 ? 'one question is' : `${open.length} questions are`} open.`);
  for (const { name, role, text, choices = [] } of open) {
    const value = role === undefined ? '' : ` ${role}=NAME`;
    output.line(`--${name}${value}: ${text}`);
    output.lines(...choices.map(({ value, note }) => `    ${value}${note ? `: ${note}` : ''}`));
  }
  if (open.some(({ name }) => name.endsWith('-table')))
    output.line(
      'Once the tables and their keys are known, init asks for their columns, the currency and which orders are sent.',
    );
  showSettled(output, settled);
  process.exitCode = exitCode.usage;
}

function showSettled(output: Output, settled: Interview['settled']): void {
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
  { interview, proposal, preview }: { interview: Interview; proposal: Proposal; preview: PreviewWithOrders },
): void {
  const { found, shown } = preview;
  output.line(`These are the tables of ${proposal.draft.title}.`);
  showSettled(output, interview.settled);
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
