import { Argument, Command, InvalidArgumentError, Option } from 'commander';
import { DateTime } from 'luxon';
import { type App, openApp } from '../app.js';
import type { Settings } from '../config/settings.js';
import { ErpError } from '../erp/erp-reader.js';
import { defaultSource, type Entity, keyInSource, settingsOf, sourceNames } from '../model/record.js';
import { redact } from '../model/redact.js';
import { shellWord } from '../model/shell-word.js';
import { exitCode, UsageError } from './exit-code.js';
import { Output } from './terminal/output.js';
import { ask, hideFromErrors } from './terminal/streams.js';

export { exitCode, UsageError };

export interface CommonOptions {
  config?: string;
  source?: string;
  json?: boolean;
}

/** A command with what every command has: --config, and in its help an example that can be typed as it stands. */
export function describeCommand(name: string, summary: string, example: string): Command {
  return new Command(name)
    .description(summary)
    .option('--config <dir>', 'configuration folder (default: $WAYBILL_CONFIG, else ./config)')
    .addHelpText('after', `\nExample:\n  ${example}`);
}

/** Holds in --json, also by their name of the version before, which scripts may read. */
export function namedHolds<Hold>(holds: readonly Hold[]): { holds: readonly Hold[]; brakes: readonly Hold[] } {
  return { holds, brakes: holds };
}

/** As `describeCommand`, for a command that prints data. */
export function jsonCommand(name: string, summary: string, example: string): Command {
  return describeCommand(name, summary, example).option('--json', 'print JSON on stdout');
}

/** The open parts of Waybill, and where the command prints. */
export interface CommandApp extends App {
  output: Output;
  /** The source that --source names; undefined: all of them. */
  source: string | undefined;
  /** The key in the store of what a person typed: with --source it is as that ERP calls the record. */
  keyOf(typed: string): string;
}

/** --config as it was given, for a command that is printed to be typed next. */
export const configFlag = ({ config }: CommonOptions) => (config === undefined ? '' : ` --config ${shellWord(config)}`);

/**
 * An action for commander that opens the app, works, and closes the app whatever happens.
 * @param work is given the app, the options, and the arguments of the command; returns the exit code, unless all is done
 * @param needsStore the command means the store that the daemon works on, and makes none of its own
 * @param check refuses options before anything is opened. @throws UsageError
 */
export function inApp<Options, Given extends unknown[]>(
  work: (app: CommandApp, options: Options, ...given: Given) => Promise<number> | Promise<void>,
  {
    readOnly = false,
    needsStore = false,
    check,
  }: {
    readOnly?: boolean | 'if-any';
    needsStore?: boolean | ((options: Options) => boolean);
    check?: (options: Options, command: Command) => void;
  } = {},
): (...args: unknown[]) => Promise<void> {
  return async (...args) => {
    const command = args.at(-1) as Command;
    const options = allOptions<Options & CommonOptions>(command);
    check?.(options, command);
    const role = commandPath(command)
      .map((one) => one.name())
      .join(' ');
    const app = await openApp({
      ...{ configDir: options.config, role, log: 'stderr', readOnly, hide: hideFromErrors },
      needsStore: typeof needsStore === 'function' ? needsStore(options) : needsStore,
    });
    try {
      // An operator's words are kept in the audit and with the records.
      const { reason } = options as { reason?: unknown };
      if (typeof reason === 'string') Object.assign(options, { reason: redact(reason, app.secrets.all) });
      const output = new Output({ ...options, secrets: app.secrets.all, timeZone: app.settings.erp.timeZone });
      const source = sourceNamed(app.settings, options.source);
      const keyOf = (typed: string) => (source === undefined ? typed : keyInSource(source, typed));
      process.exitCode =
        (await work({ ...app, output, source, keyOf }, options, ...(args.slice(0, -2) as Given))) ?? exitCode.done;
    } finally {
      await app.close();
    }
  };
}

/** One of several ERPs. */
export function sourceOption(): Option {
  return new Option(
    '--source <name>',
    'only this ERP of several, with keys as it calls them; `default` is that of the section erp',
  );
}

const nameOfDefault = 'default';

/** @throws UsageError */
export function sourceNamed(settings: Settings, name: string | undefined): string | undefined {
  if (name === undefined || name === nameOfDefault) return name && defaultSource;
  const names = sourceNames(settings).map((one) => one || nameOfDefault);
  if (names.includes(name)) return name;
  throw new UsageError(
    `--source: the settings name no source ${JSON.stringify(name)}. There are: ${names.join(', ')}.`,
  );
}

/** The parts of a command that works on one source: with its own reader, and the settings as it sees them. */
export async function atSource(app: CommandApp) {
  const source = app.source ?? defaultSource;
  const settings = settingsOf(app.settings, source);
  const reader = await app.reader();
  return { settings, context: { ...app.context, settings }, reader: reader.bySource?.get(source) ?? reader };
}

/** The mapping of what is read: where one of several sources is away, the others are read all the same. */
export async function checkReader(app: CommandApp): Promise<void> {
  if (app.source !== undefined || app.settings.named === undefined) return (await atSource(app)).reader.check();
  await (await app.reader()).check().catch((error: unknown) => {
    if (!(error instanceof ErpError && error.kind === 'unreachable')) throw error;
  });
}

/** The options of a subcommand and of the commands before it, where the parser may have put them. */
export function allOptions<Options>(command: Command): Options {
  return Object.assign({}, ...commandPath(command).map((one) => one.opts()));
}

/** A command after those that it is a subcommand of, without the program. */
function commandPath(command: Command): Command[] {
  const path: Command[] = [];
  for (let one: Command | null = command; one && (one.parent || one === command); one = one.parent) path.unshift(one);
  return path;
}

/** @throws UsageError */
export function checkReason({ reason }: { reason: string }): void {
  if (reason.trim() === '') throw new UsageError('--reason is empty: say why, because the audit keeps it.');
}

/** Asks on the terminal. Without a terminal only --yes confirms, so that no script confirms by accident. */
export async function confirm(question: string, yes: boolean | undefined): Promise<boolean> {
  if (yes) return true;
  if (!process.stdin.isTTY) throw new UsageError(`${question} There is no terminal to ask on: confirm with --yes.`);
  return /^y(es)?$/i.test(await ask(`${question} [y/N]`));
}

export type Plural = 'customers' | 'orders';

export function entityOf(plural: Plural): Entity {
  return plural === 'orders' ? 'order' : 'customer';
}

/** `<entity>` or `[entity]`: customers or orders. */
export function pluralArgument(name: string, description: string): Argument {
  return new Argument(name, description).choices(['customers', 'orders']);
}

export function entityOption(): Option {
  return new Option('--entity <entity>', 'only customers or only orders').choices(['customer', 'order']);
}

export function limitOption(description: string, ifAbsent?: number): Option {
  return new Option('--limit <n>', description).argParser(positiveInteger).default(ifAbsent);
}

/** An option that may be given several times. */
export function repeatable(flags: string, description: string): Option {
  return new Option(flags, `${description} (may be repeated)`).argParser((value: string, before: string[] = []) => [
    ...before,
    value,
  ]);
}

/** Reads the value of an option such as --limit. */
export function positiveInteger(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('Give a whole number from 1.');
  return Number(text);
}

/**
 * Reads a date, or a date and time, in milliseconds since 1970. Without an offset it is in `timeZone`.
 * @throws UsageError
 */
export function parseTime(option: string, text: string, timeZone: string): number {
  const time = DateTime.fromISO(text.trim().replace(/^(\d{4}-\d{2}-\d{2}) (?=\d)/, '$1T'), { zone: timeZone });
  // ISO 8601 also knows weeks and days of the year; typed here, they are more likely a slip.
  if (!time.isValid || !/^\d{4}-\d{2}-\d{2}/.test(text.trim()))
    throw new UsageError(`${option}: "${text}" is not a date. Write 2026-11-03 or 2026-11-03T09:15 (in ${timeZone}).`);
  return time.toMillis();
}

/** An option and its value. */
type Given = readonly [option: string, text: string | undefined];

/**
 * Reads the two ends of a half-open range; undefined is an open end.
 * @throws UsageError for what is not a date, and for a range that holds nothing
 */
export function parseRange(start: Given, end: Given, timeZone: string): [number | undefined, number | undefined] {
  const parse = ([option, text]: Given) => (text === undefined ? undefined : parseTime(option, text, timeZone));
  const [from, to] = [parse(start), parse(end)];
  if (from !== undefined && to !== undefined && to <= from)
    throw new UsageError(`${end.join(' ')} is not after ${start.join(' ')}: the range is empty.`);
  return [from, to];
}

/** The same object without the properties that are undefined, so that an absent option leaves a filter unset. */
export function defined<T extends object>(values: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}
