import type { Command } from 'commander';
import { adoptedCommand } from './bindings-adopted.js';
import { exportBindings } from './bindings-file.js';
import { type CommonOptions, describeCommand, print, printJson, withApp } from './command.js';
import { exitCode } from './exit-codes.js';

export function bindingsCommand(): Command {
  const command = describeCommand({
    name: 'bindings',
    summary: 'What the service has acknowledged of each record. Export it now and then: it brings a lost store back.',
    example: 'waybill bindings export bindings-2026-11-21.jsonl',
  });
  command.addCommand(
    describeCommand({
      name: 'export',
      summary: 'Write every binding into a new file, as JSON lines. `waybill recover --bindings FILE` reads it.',
      example: 'waybill bindings export bindings-2026-11-21.jsonl',
      json: true,
    })
      .argument('<file>', 'a file that does not exist yet; it will hold personal data (mode 0600)')
      .action(async (file: string, _options: CommonOptions, command: Command) => {
        // --config is an option of `bindings` too, and that is where the parser puts it.
        const options = command.optsWithGlobals<CommonOptions>();
        await withApp('bindings', options, async ({ store, settings }) => {
          const count = await exportBindings(store, settings, file);
          if (options.json) printJson({ file, bindings: count });
          else print(`${count} bindings are in ${file}.`);
          return exitCode.done;
        });
      }),
  );
  command.addCommand(adoptedCommand());
  return command;
}
