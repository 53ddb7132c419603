import { z } from 'zod';
import { mysqlConnection } from './value-types.js';

const witnessFile = z
  .string()
  .min(1)
  .optional()
  .describe(
    'File outside of the store that remembers how far the store had come, so that a lost or restored store is noticed. Keep it out of the store’s backups. Absent: in a folder `witness` beside the SQLite file, or in data/witness under the working folder, with the name of the store. Relative as store.file.',
  );

export const storeSettings = z
  .discriminatedUnion('type', [
    z.strictObject({
      type: z
        .literal('sqlite')
        .describe('Kind of database. sqlite: a file, nothing to install. mysql: MySQL or MariaDB, also for a standby.'),
      file: z
        .string()
        .min(1)
        .default('data/waybill.sqlite')
        .describe(
          'The store’s file, relative to the working folder. Under systemd relative to $STATE_DIRECTORY, without a leading data/.',
        ),
      witnessFile,
    }),
    z.strictObject({
      type: z
        .literal('mysql')
        .describe('Kind of database. sqlite: a file, nothing to install. mysql: MySQL or MariaDB, also for a standby.'),
      ...mysqlConnection({
        host: 'Server of the store.',
        database: 'Name of the store’s database; it belongs to Waybill alone.',
        user: 'Account that owns the store’s tables.',
        credential: 'store-password',
      }),
      witnessFile,
    }),
  ])
  .describe('Where Waybill keeps what it knows: outbox, bindings, audit.');

export type StoreSettings = z.output<typeof storeSettings>;
