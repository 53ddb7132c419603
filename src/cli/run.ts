import { Command, CommanderError } from 'commander';
import { ConfigurationError } from '../config/configuration-error.js';
import { ErpError } from '../erp/erp-reader.js';
import { FileError } from '../store/whole-file.js';
import { adoptCommand } from './adopt.js';
import { auditCommand } from './audit.js';
import { bindingsCommand } from './bindings.js';
import { exitCode, UsageError } from './command.js';
import { confirmCommand } from './confirm.js';
import { daemonCommand } from './daemon.js';
import { demoCommand } from './demo.js';
import { erpCommand } from './erp.js';
import { explainCommand } from './explain.js';
import { forgetCommand } from './forget.js';
import { goLiveCommand } from './go-live.js';
import { invoicesCommand } from './invoices.js';
import { outboxCommand } from './outbox.js';
import { pauseCommand, resumeCommand } from './pause.js';
import { recoverCommand } from './recover.js';
import { rekeyCommand } from './rekey.js';
import { sandboxCommand } from './sandbox.js';
import { statusCommand } from './status.js';
import { backupCommand, migrateCommand } from './store.js';
import { resyncCommand, syncCommand } from './sync.js';
import { write, writeError } from './terminal/streams.js';
import { webhooksCommand } from './webhooks.js';

/** Every command, new: a command keeps the options that it parsed. */
export function allCommands(): Command[] {
  return [
    daemonCommand(),
    syncCommand(),
    resyncCommand(),
    goLiveCommand(),
    pauseCommand(),
    resumeCommand(),
    confirmCommand(),
    outboxCommand(),
    explainCommand(),
    forgetCommand(),
    auditCommand(),
    invoicesCommand(),
    webhooksCommand(),
    statusCommand(),
    recoverCommand(),
    rekeyCommand(),
    adoptCommand(),
    bindingsCommand(),
    erpCommand(),
    backupCommand(),
    migrateCommand(),
    sandboxCommand(),
    demoCommand(),
  ];
}

/** Runs one command, from the arguments to the exit code. Errors go to stderr, in words. */
export async function run(argv: readonly string[]): Promise<number> {
  process.exitCode = exitCode.done;
  const program = new Command('waybill')
    .description(
      'Sends customers and orders from an ERP database to a service, each exactly once, and brings unpaid invoices back.',
    )
    .version('0.1.0')
    .addHelpText('after', '\nExample:\n  waybill demo\n\nREADME.md leads from there to your own ERP.')
    .showHelpAfterError('(add --help for the options)');
  for (const command of allCommands()) program.addCommand(command);
  for (const command of [program, ...program.commands, ...program.commands.flatMap((one) => one.commands)])
    command.exitOverride().configureOutput(printing);

  try {
    await program.parseAsync([...argv]);
    return Number(process.exitCode ?? exitCode.done);
  } catch (error) {
    // Commander has printed its own message already.
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCode.done : exitCode.usage;
    printError(error);
    return isWrongUsage(error) ? exitCode.usage : exitCode.failed;
  }
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

/** What commander prints: our own help, and errors that name what was typed. */
const printing = {
  writeOut: (text: string) => void write(text),
  writeErr: (text: string) => writeError(...text.replace(/\n$/, '').split('\n')),
  outputError: (text: string) => writeError(text.trimEnd()),
};
