import { basename, delimiter, dirname, join, resolve } from 'node:path';
import { z } from 'zod';
import { isInFile } from '../../model/database-place.js';
import type { Partly, Report } from '../configuration-error.js';
import { fileKind } from './database-kinds.js';
import { checkServerTls, onServer, onServers, serverConnection } from './database-server.js';
import { withPemPaths } from './tls-files.js';
import { text, variants } from './value-types.js';

const storeKind =
  'Kind of database. sqlite: a file, nothing to install. mysql (MySQL or MariaDB) and postgres: on a server, also for a standby.';

const witnessFile = text
  .optional()
  .describe(
    'File outside the store that remembers how far the store had come, so that a lost or restored store is noticed. Keep it out of the store’s backups. Default: in a folder `witness` beside the SQLite file, or in data/witness under the working folder, named after the store. A relative path works as in store.file.',
  );

const secondWitnessFile = text
  .optional()
  .describe(
    'The same file once more, so that the loss of the folder of the store, or a restore of that whole folder, is noticed too. Best on another disk. Default: under systemd in the second folder of $STATE_DIRECTORY, otherwise none. A relative path works as in store.file.',
  );

const meanings = {
  host: 'Server of the store.',
  database: 'Name of the store’s database; it belongs to Waybill alone.',
  user: 'Account that owns the store’s tables.',
  credential: 'store',
};

export const storeSettings = variants(
  'Where Waybill keeps what it knows: outbox, bindings, audit.',
  z.discriminatedUnion('type', [
    z.strictObject({
      type: z.literal(fileKind).describe(storeKind),
      file: text
        .default('data/waybill.sqlite')
        .describe(
          'The store’s file, relative to the working folder. Under systemd relative to $STATE_DIRECTORY, without a leading data/.',
        ),
      witnessFile,
      secondWitnessFile,
    }),
    ...onServers((kind) =>
      z.strictObject({
        type: z.literal(kind).describe(storeKind),
        ...serverConnection(kind, meanings),
        witnessFile,
        secondWitnessFile,
      }),
    ),
  ]),
  fileKind,
);

export type StoreSettings = z.output<typeof storeSettings>;

/** The settings that are checked together. */
type Relevant = Partly<{ store: StoreSettings }>;

export function checkStore({ store }: Relevant, report: Report): void {
  checkServerTls('store', onServer(store), report);
  if (store?.type !== fileKind || !/^(:memory:|file:)/.test(store.file ?? '')) return;
  report('store.file', 'is not the name of a file', {
    found: store.file ?? '',
    allowed: 'a file, because what Waybill knows has to outlive it',
  });
}

/** systemd gives a service its own state folder, which takes the place of `data/` in a working copy. */
function storeFile(file: string, env: NodeJS.ProcessEnv): string {
  const stateDirectory = env.STATE_DIRECTORY?.split(delimiter)[0];
  if (!stateDirectory) return resolve(file);
  return resolve(stateDirectory, file.replace(/^(\.\/)*data\//, ''));
}

/** The store with absolute paths, and with the default of its witness. */
export function withStorePaths(store: StoreSettings, configDir: string, env: NodeJS.ProcessEnv): StoreSettings {
  const given = store.witnessFile;
  if (isInFile(store)) {
    const file = storeFile(store.file, env);
    // A folder of its own, so that restoring the store's file, or all files beside it, leaves the witness alone.
    const beside = join(dirname(file), 'witness', `${basename(file)}.json`);
    const witnessFile = given ? storeFile(given, env) : beside;
    return { ...store, file, witnessFile, ...secondWitness(store, witnessFile, env) };
  }
  const name = `${store.host}-${store.port}-${store.database}`.replaceAll(/[^A-Za-z0-9._-]/g, '_');
  const witnessFile = storeFile(given ?? `data/witness/${name}.json`, env);
  return {
    ...store,
    witnessFile,
    ...secondWitness(store, witnessFile, env),
    tls: withPemPaths(store.tls, configDir),
  };
}

/** A second folder of the unit is there for this alone. */
function secondWitness({ secondWitnessFile }: StoreSettings, witnessFile: string, env: NodeJS.ProcessEnv) {
  const [, folder] = env.STATE_DIRECTORY?.split(delimiter) ?? [];
  if (secondWitnessFile) return { secondWitnessFile: storeFile(secondWitnessFile, env) };
  return folder ? { secondWitnessFile: join(folder, basename(witnessFile)) } : {};
}
