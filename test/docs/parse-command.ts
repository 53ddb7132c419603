import type { Command } from 'commander';
import { allCommands } from '../../src/cli/run.js';

/** A command and its subcommands, each with the words that call it. */
export function withSubcommands(command: Command, before: string[] = []): { words: string[]; command: Command }[] {
  const words = [...before, command.name()];
  return [{ words, command }, ...command.commands.flatMap((sub) => withSubcommands(sub, words))];
}

/** Commander forgets what was parsed when it parses again. */
const commands = await allCommands();

/** Parses the words after `waybill` and does nothing. @throws what the command line would say */
export function parseCommand(words: readonly string[]): void {
  const [name, ...rest] = words;
  const command = commands.find((one) => one.name() === name);
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
