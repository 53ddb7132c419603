import { z } from 'zod';
import { mysqlConnection, timeZone } from './value-types.js';

const erpTimeZone = timeZone.describe(
  'Time zone of the dates and times in the ERP, e.g. Europe/Berlin. Never guessed, because a wrong one shifts every date.',
);

const queryTimeoutSeconds = z
  .number()
  .positive()
  .max(3600)
  .default(60)
  .describe('Longest time one query may take; the ERP itself then stops it, where it can.');

export const erpSettings = z
  .discriminatedUnion('type', [
    z.strictObject({
      type: z.literal('mysql').describe('Kind of database. mysql: MySQL or MariaDB. sqlite: a SQLite file.'),
      ...mysqlConnection({
        host: 'Server of the ERP database.',
        database: 'Name of the ERP database.',
        user: 'An account that may only SELECT.',
        credential: 'erp-password',
      }),
      timeZone: erpTimeZone,
      queryTimeoutSeconds,
    }),
    z.strictObject({
      type: z.literal('sqlite').describe('Kind of database. mysql: MySQL or MariaDB. sqlite: a SQLite file.'),
      file: z.string().min(1).describe('The database file, relative to the configuration folder. It is only read.'),
      timeZone: erpTimeZone,
      queryTimeoutSeconds,
    }),
  ])
  .describe('The database that Waybill reads. Nothing is written through this account; see writeBack.');
export type ErpSettings = z.output<typeof erpSettings>;
