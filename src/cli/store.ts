import { resolve } from 'node:path';
import type { Command } from 'commander';
import { backupStore, restoreStore } from '../store/backup.js';
import { type CommonOptions, describeCommand, exitCode, print, printJson, UsageError, withApp } from './command.js';

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

export function backupCommand(): Command {
  return describeCommand({
    name: 'backup',
    summary: 'Copy the store while it is in use. Whoever restores a copy runs `waybill recover` afterwards.',
    example: 'waybill backup waybill-2026-11-21.copy',
    json: true,
  })
    .argument('<file>', 'a file that does not exist yet; it will hold personal data (mode 0600)')
    .option('--restore', 'read such a copy into the empty MySQL or MariaDB store of the settings')
    .action(async (given: string, options: CommonOptions & { restore?: boolean }) => {
      const file = resolve(given);
      await withApp('backup', options, async ({ store, settings }) => {
        if (options.restore && settings.store.type === 'sqlite')
          throw new UsageError(
            `A copy of a SQLite store is such a store: stop the daemon and put ${file} in the place of ${settings.store.file}; remove that file's -wal and -shm.`,
          );
        const rows = options.restore ? await restoreStore(store, file) : await backupStore(store, file);
        if (options.json) printJson({ file, restored: options.restore ?? false, rows });
        else if (options.restore) print(`${rows} rows are restored. Next: waybill recover --dry-run`);
        else print(`The store is copied to ${file}.`);
        return exitCode.done;
      });
    });
}
