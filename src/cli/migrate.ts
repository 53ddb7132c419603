import type { Command } from 'commander';
import { type CommonOptions, describeCommand, print, withApp } from './command.js';
import { exitCode } from './exit-codes.js';

export function migrateCommand(): Command {
  return describeCommand({
    name: 'migrate',
    summary: 'Bring the store’s schema up to date. Every other command does it too; this one does nothing else.',
    example: 'waybill migrate',
  }).action(async (options: CommonOptions) => {
    await withApp('migrate', options, async ({ store }) => {
      const rows = await store.read('read the migrations', (tx) =>
        tx.select<{ name: string }>('SELECT name FROM migration ORDER BY id'),
      );
      print(`The store is up to date: ${rows.map((row) => row.name).join(', ')}.`);
      return exitCode.done;
    });
  });
}
