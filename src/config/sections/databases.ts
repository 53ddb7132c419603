import { z } from 'zod';
import { mysqlConnection, positive, text, timeZone, variants } from './value-types.js';

const erpKind = 'Kind of database. mysql: MySQL or MariaDB. sqlite: a SQLite file.';

const common = {
  timeZone: timeZone.describe(
    'Time zone of the dates and times in the ERP, such as Europe/Berlin. Never guessed, because a wrong one shifts every date.',
  ),
  queryTimeoutSeconds: positive(3600)
    .default(60)
    .describe('Longest time one query may take; where the ERP can, it stops the query itself.'),
};

export const erpSettings = variants(
  'The database that Waybill reads. Nothing is written through this account; see writeBack.',
  z.discriminatedUnion('type', [
    z.strictObject({
      type: z.literal('mysql').describe(erpKind),
      ...mysqlConnection({
        host: 'Server of the ERP database.',
        database: 'Name of the ERP database.',
        user: 'An account that may only SELECT.',
        credential: 'erp-password',
      }),
      ...common,
    }),
    z.strictObject({
      type: z.literal('sqlite').describe(erpKind),
      file: text.describe('The database file, relative to the configuration folder. Waybill only reads it.'),
      ...common,
    }),
  ]),
);

const storeKind = 'Kind of database. sqlite: a file, nothing to install. mysql: MySQL or MariaDB, also for a standby.';

const witnessFile = text
  .optional()
  .describe(
    'File outside the store that remembers how far the store had come, so that a lost or restored store is noticed. Keep it out of the store’s backups. Default: in a folder `witness` beside the SQLite file, or in data/witness under the working folder, named after the store. A relative path works as in store.file.',
  );

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
    }),
    z.strictObject({
      type: z.literal('mysql').describe(storeKind),
      ...mysqlConnection({
        host: 'Server of the store.',
        database: 'Name of the store’s database; it belongs to Waybill alone.',
        user: 'Account that owns the store’s tables.',
        credential: 'store-password',
      }),
      witnessFile,
    }),
  ]),
  'sqlite',
);

export type StoreSettings = z.output<typeof storeSettings>;
