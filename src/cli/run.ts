import { Command, CommanderError } from 'commander';
import { ConfigurationError } from '../config/configuration-error.js';
import { ErpError } from '../erp/erp-reader.js';
import { adoptCommand } from './adopt.js';
import { auditCommand } from './audit.js';
import { bindingsCommand } from './bindings.js';
import { exitCode, UsageError } from './command.js';
import { confirmCommand } from './confirm-held.js';
import { daemonCommand } from './daemon.js';
import { demoCommand } from './demo.js';
import { erpCommand } from './erp.js';
import { explainCommand } from './explain.js';
import { forgetCommand } from './forget.js';
import { goLiveCommand } from './go-live.js';
import { invoicesCommand } from './invoices.js';
import { outboxCommand } from './outbox/outbox.js';
import { pauseCommand, resumeCommand } from './pause.js';
import { recoverCommand } from './recover.js';
import { resyncCommand } from './resync.js';
import { sandboxCommand } from './sandbox.js';
import { statusCommand } from './status.js';
import { backupCommand, migrateCommand } from './store.js';
import { syncCommand } from './sync.js';
import { webhooksCommand } from './webhooks.js';

/** One command from the arguments to the exit code. Errors go to stderr, in words. */
export async function run(argv: readonly string[]): Promise<number> {
  process.exitCode = exitCode.done;
  const program = new Command('waybill')
    .description(
      'Carries customers and orders from an ERP database to a service, each exactly once, and brings unpaid invoices back.',
    )
    .version('0.1.0')
    .addHelpText('after', '\nExample:\n  waybill demo\n\nThe way from there to your own ERP: README.md.')
    .showHelpAfterError('(add --help for the options)');
  const commands = [
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
    adoptCommand(),
    bindingsCommand(),
    erpCommand(),
    backupCommand(),
    migrateCommand(),
    sandboxCommand(),
    demoCommand(),
  ];
  for (const command of commands) program.addCommand(command);
  for (const command of [program, ...commands, ...commands.flatMap((c) => c.commands)]) command.exitOverride();

  try {
    await program.parseAsync([...argv]);
    return Number(process.exitCode ?? exitCode.done);
  } catch (error) {
    // Commander has printed its own message by now.
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCode.done : exitCode.usage;
    process.stderr.write(`waybill: ${describe(error)}\n`);
    return isWrongUsage(error) ? exitCode.usage : exitCode.failed;
  }
}

/** A mapping that the ERP does not bear out, or a key that no row of it can have, is only found out later. */
function isWrongUsage(error: unknown): boolean {
  if (error instanceof ErpError) return error.kind === 'mapping' || error.kind === 'request';
  return error instanceof ConfigurationError || error instanceof UsageError;
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // A fault of ours needs its stack to be found; everything foreseen has a name of its own and says what to do.
  return error.name === 'Error' || error.name === 'TypeError' ? (error.stack ?? error.message) : error.message;
}
