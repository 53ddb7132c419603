import { Command, CommanderError } from 'commander';
import { ConfigurationError } from '../config/configuration-error.js';
import { ErpError } from '../erp/erp-reader.js';
import { Refused } from '../model/facts/failure.js';
import { version } from '../model/version.js';
import { FileError } from '../store/whole-file.js';
import { exitCode, UsageError } from './exit-code.js';
import { write, writeError } from './terminal/streams.js';

/** Every command, new each time: a command keeps the options that it parsed. */
const commands: Record<string, () => Promise<Command>> = {
  init: async () => (await import('./setup/init.js')).initCommand(),
  daemon: async () => (await import('./daemon.js')).daemonCommand(),
  preview: async () => (await import('./setup/preview.js')).previewCommand(),
  doctor: async () => (await import('./setup/doctor.js')).doctorCommand(),
  sync: async () => (await import('./sync.js')).syncCommand(),
  resync: async () => (await import('./sync.js')).resyncCommand(),
  reconcile: async () => (await import('./reconcile/reconcile.js')).reconcileCommand(),
  'go-live': async () => (await import('./go-live.js')).goLiveCommand(),
  pause: async () => (await import('./pause.js')).pauseCommand(),
  resume: async () => (await import('./pause.js')).resumeCommand(),
  confirm: async () => (await import('./confirm.js')).confirmCommand(),
  outbox: async () => (await import('./outbox.js')).outboxCommand(),
  explain: async () => (await import('./explain.js')).explainCommand(),
  audit: async () => (await import('./audit.js')).auditCommand(),
  invoices: async () => (await import('./invoices.js')).invoicesCommand(),
  webhooks: async () => (await import('./webhooks.js')).webhooksCommand(),
  status: async () => (await import('./status.js')).statusCommand(),
  recover: async () => (await import('./recover.js')).recoverCommand(),
  rekey: async () => (await import('./rekey.js')).rekeyCommand(),
  adopt: async () => (await import('./adopt.js')).adoptCommand(),
  bindings: async () => (await import('./bindings.js')).bindingsCommand(),
  erp: async () => (await import('./erp.js')).erpCommand(),
  probe: async () => (await import('./setup/probe.js')).probeCommand(),
  desk: async () => (await import('./setup/desk.js')).deskCommand(),
  backup: async () => (await import('./store.js')).backupCommand(),
  migrate: async () => (await import('./store.js')).migrateCommand(),
  sandbox: async () => (await import('./sandbox.js')).sandboxCommand(),
  demo: async () => (await import('./demo.js')).demoCommand(),
  completion: async () => (await import('./shell/completion.js')).completionCommand(wholeProgram),
  man: async () => (await import('./shell/man-page.js')).manCommand(wholeProgram),
};

/** Commands that are made from the table of actions alone. */
async function commandsOfActions(): Promise<Command[]> {
  return (await import('./actions/action-commands.js')).actionCommands();
}

export async function allCommands(): Promise<Command[]> {
  return [...(await Promise.all(Object.values(commands).map((load) => load()))), ...(await commandsOfActions())];
}

/** Loads only the command that is typed: all of them take half a second of CPU. Help and mistakes need all. */
async function commandsFor(name = ''): Promise<Command[]> {
  if (name === '--version' || name === '-V') return [];
  const load = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (load) return [await load()];
  const acting = (await commandsOfActions()).filter((one) => one.name() === name);
  return acting.length > 0 ? acting : allCommands();
}

function programWith(some: readonly Command[]): Command {
  const program = new Command('waybill')
    .description(
      'Sends customers and orders from an ERP database to a service, each exactly once, and brings unpaid invoices back.',
    )
    .version(version)
    .addHelpText('after', '\nExample:\n  waybill demo\n\nREADME.md leads from there to your own ERP.')
    .showHelpAfterError('(add --help for the options)');
  for (const command of some) program.addCommand(command);
  return program;
}

/** The program with all its commands, for what tells of them. */
export async function wholeProgram(): Promise<Command> {
  return programWith(await allCommands());
}

/** Runs one command, from the arguments to the exit code. Errors go to stderr, in words. @param loaded called before it begins */
export async function run(argv: readonly string[], loaded = () => {}): Promise<number> {
  process.exitCode = exitCode.done;
  const program = programWith(await commandsFor(argv[2]));
  loaded();
  for (const command of [program, ...program.commands, ...program.commands.flatMap((one) => one.commands)])
    command.exitOverride().configureOutput(printing);

  try {
    await program.parseAsync([...argv]);
    return Number(process.exitCode ?? exitCode.done);
  } catch (error) {
    // Commander has printed its own message already.
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCode.done : exitCode.usage;
    printError(error instanceof Refused ? await inWords(error) : error);
    return isWrongUsage(error) ? exitCode.usage : exitCode.failed;
  }
}

/** The sentence of a refusal. The words are loaded here: `--version` needs none. */
async function inWords({ fact }: Refused): Promise<string> {
  const { tell } = await import('../words/words.js');
  return tell(fact);
}

/** Wrong settings or arguments. Some show only when the ERP is read: a mapping that it contradicts, an impossible key. */
function isWrongUsage(error: unknown): boolean {
  if (error instanceof ErpError) return error.kind === 'mapping' || error.kind === 'request';
  if (error instanceof FileError) return error.isWrongUsage;
  return error instanceof ConfigurationError || error instanceof UsageError;
}

/** Says on stderr what went wrong. */
export function printError(error: unknown): void {
  const [first = '', ...more] = describe(error);
  writeError(`waybill: ${first}`, ...more);
}

/** The lines that say what went wrong. A message is one line, unless the error says which lines it has. */
function describe(error: unknown): readonly string[] {
  if (!(error instanceof Error)) return [String(error)];
  if ((error instanceof ConfigurationError || error instanceof ErpError) && error.lines) return error.lines;
  // A bug of ours needs its stack to be found. Every foreseen error has a name of its own and says what to do.
  const isBug = /^(Type|Range|Reference|Syntax)?Error$/.test(error.name);
  const frames = isBug ? (error.stack ?? '').split('\n').filter((line) => /^ +at /.test(line)) : [];
  return [isBug ? `${error.name}: ${error.message}` : error.message, ...frames];
}

/** Replaces commander's texts: our own help, and errors that name the typed text. */
const printing = {
  writeOut: (text: string) => void write(text),
  writeErr: (text: string) => writeError(...text.replace(/\n$/, '').split('\n')),
  outputError: (text: string) => writeError(text.trimEnd()),
};
