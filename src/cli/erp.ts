import type { Command } from 'commander';
import { loadSettings } from '../config/load-settings.js';
import { sideTables } from '../erp/write-back/side-tables.js';
import { writeAgain } from '../inbound/write-back/write-back-state.js';
import { writeBackKinds } from '../model/write-back.js';
import { type CommonOptions, describeCommand, exitCode, print, printJson, withApp } from './command.js';

export function erpCommand(): Command {
  const command = describeCommand({
    name: 'erp',
    summary: 'What is written back into the ERP: its side tables, and writing them again.',
    example: 'waybill erp side-tables',
  });
  command.addCommand(sideTablesCommand());
  command.addCommand(writeAgainCommand());
  return command;
}

interface SideTablesOptions extends CommonOptions {
  from: string;
}

function sideTablesCommand(): Command {
  return describeCommand({
    name: 'side-tables',
    summary:
      'Print the side tables of the write-back and its grants as SQL, for an administrator of the ERP. Writes nothing.',
    example: 'waybill erp side-tables --from 192.0.2.10',
    json: true,
  })
    .option('--from <host>', 'the host that the account connects from', '%')
    .action((_options: SideTablesOptions, command: Command) => {
      const options = command.optsWithGlobals<SideTablesOptions>();
      const { settings } = loadSettings({ configDir: options.config });
      const user = settings.writeBack.user ?? 'waybill_writer';
      const { tables, account, grants, byStatement } = sideTables(settings, user, options.from);
      if (options.json) {
        printJson({ tables, grants, byStatement });
        return;
      }
      for (const table of tables) print(`${table}\n`);
      if (grants.length > 0) print(`-- The account, if there is none yet: ${account}`);
      for (const grant of grants) print(grant);
      for (const kind of byStatement) print(`-- ${kind} go by statements of writeBack.${kind}: grant what these need.`);
    });
}

function writeAgainCommand(): Command {
  return describeCommand({
    name: 'write-again',
    summary: 'Write everything back once more, such as after the ERP or its side tables were restored from a backup.',
    example: 'waybill erp write-again',
    json: true,
  }).action(async (_options: CommonOptions, command: Command) => {
    const options = command.optsWithGlobals<CommonOptions>();
    await withApp('erp', options, async ({ context, settings }) => {
      const writing = await writeAgain(context);
      if (writing !== null) {
        process.stderr.write(`waybill: ${writing} is writing back at this moment; try it again in a minute.\n`);
        return exitCode.failed;
      }
      const kinds = writeBackKinds.filter((kind) => settings.writeBack[kind].enabled);
      if (options.json) printJson({ enabled: settings.writeBack.enabled, kinds });
      else if (settings.writeBack.enabled) print(`The next pass of the daemon writes all ${kinds.join(', ')} again.`);
      else print('writeBack.enabled is false: nothing is written back.');
      return exitCode.done;
    });
  });
}
