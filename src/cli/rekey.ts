import { Argument, type Command } from 'commander';
import type { Entity } from '../model/record.js';
import { checkKeys, keepKeys, whyNotSame } from '../operator/rekey.js';
import { type CommandApp, confirm, exitCode, inApp, jsonCommand } from './command.js';

export function rekeyCommand(): Command {
  return jsonCommand(
    'rekey',
    'After the ERP database moved or a key column was renamed: say that each key still names the same record.',
    'waybill rekey orders --same --reason "the ERP moved to another server"',
  )
    .addArgument(new Argument('<entity>', 'whose keys').choices(['orders', 'customers']))
    .requiredOption('--same', 'each key still names the same record; Waybill checks a sample')
    .option('--yes', 'do not ask')
    .option('--reason <text>', 'why, for the audit', 'no reason given')
    .action(inApp(rekey));
}

async function rekey(app: CommandApp, { yes, reason }: { yes?: boolean; reason: string }, plural: string) {
  const { context, output } = app;
  const entity: Entity = plural === 'orders' ? 'order' : 'customer';
  const reader = app.reader();
  await reader.check();
  const check = await checkKeys(context, reader, entity);
  const { change, asked, found, same } = check;
  const problem = whyNotSame(check);
  const answer = (changed: boolean) => output.json({ entity, changed, problem, ...check });
  if (change === null) {
    answer(false);
    output.line(`The keys of ${plural} are what they were.`);
    return exitCode.done;
  }
  output.lines(
    `The keys of ${plural} were ${change}.`,
    `Of ${asked} delivered ${plural}, ${found} are in the ERP under their keys; ${same} proved to be the same.`,
  );
  if (problem !== null) {
    answer(false);
    output.line(`Not done: ${problem}. Put the settings back.`);
    return exitCode.failed;
  }
  if (!(await confirm('Does each key still name the same record?', yes))) return exitCode.failed;
  await keepKeys(context, reader.identity(), entity, change, reason);
  answer(true);
  output.line('Done. Capture and delivery go on.');
  return exitCode.done;
}
