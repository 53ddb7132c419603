import { resolve } from 'node:path';
import type { Command } from 'commander';
import { isInFile } from '../model/database-place.js';
import { checkRestored, witnessFilesOf } from '../outbound/recovery/store-witness.js';
import { backupStore, migrationsOf, restoreStore } from '../store/backup.js';
import { type CommandApp, describeCommand, inApp, jsonCommand, UsageError } from './command.js';
import { readGivenFile, writeGivenFile } from './given-file.js';

export function migrateCommand(): Command {
  return describeCommand(
    'migrate',
    'Bring the schema of the store up to date. Most commands do it too; this one does nothing else.',
    'waybill migrate',
  ).action(
    inApp(async ({ store, output }) => {
      const names = await store.read('read the migrations', migrationsOf);
      output.line(`The store is up to date: ${names.join(', ')}.`);
    }),
  );
}

export function backupCommand(): Command {
  return jsonCommand(
    'backup',
    'Copy the store while it is in use. After you restore a copy, run `waybill recover`.',
    'waybill backup waybill-2026-11-21.copy',
  )
    .argument('<file>', 'a file that does not exist yet; it will hold personal data (mode 0600). `-` is stdout')
    .option('--restore', 'read such a copy into the empty store on a server that the settings name; `-` is stdin')
    .action(inApp(backup, { needsStore: ({ restore = false }: { restore?: boolean }) => !restore }));
}

async function backup(
  { store, settings, output }: CommandApp,
  { restore = false }: { restore?: boolean },
  given: string,
): Promise<void> {
  if (restore && isInFile(settings.store))
    throw new UsageError(
      `A copy of a SQLite store is a store itself. Stop the daemon, put ${given} in the place of ${settings.store.file}, and remove that file's -wal and -shm.`,
    );
  const rows = restore
    ? await readGivenFile(given, settings, (file) => restoreStore(store, file))
    : await writeGivenFile(given, settings, (file) => backupStore(store, file));
  const witness = witnessFilesOf(settings.store);
  if (restore && witness) await checkRestored(store, witness, Date.now());
  // Then stdout is the copy.
  if (given === '-' && !restore) return;
  const file = resolve(given);
  output.json({ file, restored: restore, rows });
  output.line(
    restore ? `${rows} rows are restored. Next: waybill recover --dry-run` : `The store is copied to ${file}.`,
  );
}
