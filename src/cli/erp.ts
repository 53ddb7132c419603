import type { Command } from 'commander';
import { loadSettings } from '../config/load-settings.js';
import { erpDialect } from '../db/databases.js';
import { sideTables } from '../erp/write-back/side-tables.js';
import { writeAgain } from '../inbound/write-back/write-back-state.js';
import { writeBackKinds } from '../model/write-back.js';
import {
  allOptions,
  type CommandApp,
  type CommonOptions,
  describeCommand,
  exitCode,
  inApp,
  jsonCommand,
} from './command.js';
import { Output } from './terminal/output.js';
import { writeError } from './terminal/streams.js';

export function erpCommand(): Command {
  return describeCommand(
    'erp',
    'Print the side tables of the write-back into the ERP, or write everything back again.',
    'waybill erp side-tables',
  )
    .addCommand(
      jsonCommand(
        'side-tables',
        'Print the side tables of the write-back and its grants as SQL, for an administrator of the ERP. Writes nothing.',
        'waybill erp side-tables --from 192.0.2.10',
      )
        .option('--from <host>', 'the host that the account connects from', '%')
        .action((_options, command: Command) => printSideTables(allOptions(command))),
    )
    .addCommand(
      jsonCommand(
        'write-again',
        'Write everything back once more, for example after a restore of the ERP or its side tables.',
        'waybill erp write-again',
      ).action(inApp(writeEverythingAgain, { needsStore: true })),
    );
}

/** Needs the settings alone: the ERP and the store may not exist yet. */
async function printSideTables(options: CommonOptions & { from: string }): Promise<void> {
  const output = new Output(options);
  const { settings } = loadSettings({ configDir: options.config });
  const user = settings.writeBack.user ?? 'waybill_writer';
  const dialect = await erpDialect(settings.erp.type);
  const { tables, account, grants, byStatement } = sideTables(settings, dialect, user, options.from);
  output.json({ tables, grants, byStatement });
  output.lines(
    ...tables.flatMap((table) => [...table.split('\n'), '']),
    grants.length > 0 && `-- If the account does not exist yet: ${account}`,
    ...grants,
    ...byStatement.map(
      (kind) => `-- The statements of writeBack.${kind} write ${kind}: grant what these statements need.`,
    ),
  );
}

async function writeEverythingAgain({ context, settings, output }: CommandApp): Promise<number> {
  const busy = await writeAgain(context);
  if (busy !== null) {
    writeError(`waybill: ${busy} is writing back right now. Try again in a minute.`);
    return exitCode.failed;
  }
  const { enabled } = settings.writeBack;
  const kinds = writeBackKinds.filter((kind) => settings.writeBack[kind].enabled);
  output.json({ enabled, kinds });
  output.line(
    enabled
      ? `The next pass of the daemon writes all ${kinds.join(', ')} again.`
      : 'writeBack.enabled is false: Waybill writes nothing back.',
  );
  return exitCode.done;
}
