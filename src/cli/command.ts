import { Command, InvalidArgumentError } from 'commander';
import { type App, openApp } from '../app.js';
import { oneLine } from './terminal/output.js';

export interface CommonOptions {
  config?: string;
  json?: boolean;
}

export interface CommandDescription {
  name: string;
  summary: string;
  /** A command that can be typed as it stands. */
  example: string;
  /** Whether it prints data, and so can print JSON. */
  json?: boolean;
}

/** A command with what every command has: --config, --json where there is data, and an example in its help. */
export function describeCommand(description: CommandDescription): Command {
  const command = new Command(description.name)
    .description(description.summary)
    .option('--config <dir>', 'configuration folder (default: $WAYBILL_CONFIG, else ./config)')
    .addHelpText('after', `\nExample:\n  ${description.example}`);
  if (description.json) command.option('--json', 'print JSON on stdout');
  return command;
}

/** Opens the parts for one command, runs it, and closes them whatever happens. The exit code is what `work` returns. */
export async function withApp(
  role: string,
  options: CommonOptions,
  work: (app: App) => Promise<number>,
  { readOnly = false } = {},
): Promise<void> {
  const app = await openApp({ configDir: options.config, role, log: 'stderr', readOnly });
  try {
    process.exitCode = await work(app);
  } finally {
    await app.close();
  }
}

/** Collects an option that may be given several times. */
export function collect(value: string, before: string[] = []): string[] {
  return [...before, value];
}

export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}

/** Lines of our own making; whatever stands in them from elsewhere, a terminal does not obey it. */
export function print(text = ''): void {
  process.stdout.write(`${text.split('\n').map(oneLine).join('\n')}\n`);
}

/** What the shell is told. */
export const exitCode = {
  done: 0,
  failed: 1,
  /** Wrong usage or wrong configuration. */
  usage: 2,
  /** Done, but something waits for a person. */
  waitsForPerson: 3,
} as const;

/** The command was called in a way that can't work; the message says how it would. Exit code 2. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'UsageError';
  }
}

/** Reads the value of an option such as --limit. */
export function positiveInteger(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('Give a whole number from 1.');
  return Number(text);
}
