import type { Command } from 'commander';
import { adoptCommand } from '../../src/cli/adopt.js';
import { auditCommand } from '../../src/cli/audit.js';
import { bindingsCommand } from '../../src/cli/bindings.js';
import { confirmCommand } from '../../src/cli/confirm-held.js';
import { daemonCommand } from '../../src/cli/daemon.js';
import { demoCommand } from '../../src/cli/demo.js';
import { erpCommand } from '../../src/cli/erp.js';
import { explainCommand } from '../../src/cli/explain.js';
import { forgetCommand } from '../../src/cli/forget.js';
import { goLiveCommand } from '../../src/cli/go-live.js';
import { invoicesCommand } from '../../src/cli/invoices.js';
import { outboxCommand } from '../../src/cli/outbox/outbox.js';
import { pauseCommand, resumeCommand } from '../../src/cli/pause.js';
import { recoverCommand } from '../../src/cli/recover.js';
import { resyncCommand } from '../../src/cli/resync.js';
import { sandboxCommand } from '../../src/cli/sandbox.js';
import { statusCommand } from '../../src/cli/status.js';
import { backupCommand, migrateCommand } from '../../src/cli/store.js';
import { syncCommand } from '../../src/cli/sync.js';
import { webhooksCommand } from '../../src/cli/webhooks.js';

const factories = [
  confirmCommand,
  daemonCommand,
  syncCommand,
  resyncCommand,
  goLiveCommand,
  pauseCommand,
  resumeCommand,
  outboxCommand,
  explainCommand,
  forgetCommand,
  invoicesCommand,
  webhooksCommand,
  auditCommand,
  statusCommand,
  recoverCommand,
  adoptCommand,
  bindingsCommand,
  erpCommand,
  backupCommand,
  migrateCommand,
  sandboxCommand,
  demoCommand,
];

/** Fresh ones: a command keeps the options that it parsed. */
export function allCommands(): Command[] {
  return factories.map((make) => make());
}

/** A command and its subcommands, each with the words that call it. */
export function withSubcommands(command: Command, before: string[] = []): { words: string[]; command: Command }[] {
  const words = [...before, command.name()];
  return [{ words, command }, ...command.commands.flatMap((sub) => withSubcommands(sub, words))];
}

/** Parses the words after `waybill` and does nothing. @throws what the command line would say */
export function parseCommand(words: readonly string[]): void {
  const [name, ...rest] = words;
  const command = allCommands().find((one) => one.name() === name);
  if (!command) throw new Error(`There is no command ${name}.`);
  let reached = false;
  for (const { command: one } of withSubcommands(command)) {
    one
      .exitOverride()
      .configureOutput({ writeErr: () => undefined, writeOut: () => undefined })
      .action(() => {
        reached = true;
      });
  }
  command.parse(rest, { from: 'user' });
  if (!reached) throw new Error(`waybill ${words.join(' ')} does nothing.`);
}
