import { z } from 'zod';
import { mysqlPort, serverConnection } from './database-server.js';
import { positive, text, timeZone, variants } from './value-types.js';

const erpKind = 'Kind of database. mysql: MySQL or MariaDB. sqlite: a SQLite file.';

const common = {
  timeZone: timeZone.describe(
    'Time zone of the dates and times in the ERP, such as Europe/Berlin. Never guessed, because a wrong one shifts every date.',
  ),
  queryTimeoutSeconds: positive(3600)
    .default(60)
    .describe('Longest time one query may take; where the ERP can, it stops the query itself.'),
};

const meanings = {
  host: 'Server of the ERP database.',
  database: 'Name of the ERP database.',
  user: 'An account that may only SELECT.',
  credential: 'erp',
};

export const erpSettings = variants(
  'The database that Waybill reads. Nothing is written through this account; see writeBack.',
  z.discriminatedUnion('type', [
    z.strictObject({
      type: z.literal('mysql').describe(erpKind),
      ...serverConnection(mysqlPort, meanings),
      ...common,
    }),
    z.strictObject({
      type: z.literal('sqlite').describe(erpKind),
      file: text.describe('The database file, relative to the configuration folder. Waybill only reads it.'),
      ...common,
    }),
  ]),
);
