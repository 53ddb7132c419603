import { z } from 'zod';
import { mysqlPort, postgresPort, serverConnection } from './database-server.js';
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
      type: z.literal('sqlite').describe(storeKind),
      file: text
        .default('data/waybill.sqlite')
        .describe(
          'The store’s file, relative to the working folder. Under systemd relative to $STATE_DIRECTORY, without a leading data/.',
        ),
      witnessFile,
      secondWitnessFile,
    }),
    z.strictObject({
      type: z.literal('mysql').describe(storeKind),
      ...serverConnection(mysqlPort, meanings),
      witnessFile,
      secondWitnessFile,
    }),
    z.strictObject({
      type: z.literal('postgres').describe(storeKind),
      ...serverConnection(postgresPort, meanings),
      witnessFile,
      secondWitnessFile,
    }),
  ]),
  'sqlite',
);

export type StoreSettings = z.output<typeof storeSettings>;
