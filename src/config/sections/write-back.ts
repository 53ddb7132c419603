import type { z } from 'zod';
import { databaseTls } from './database-server.js';
import { flag, group, positive, query, secret, secretFile, text, textLike, whole } from './value-types.js';

const shape = (table: string, what: string, gone: string) => ({
  enabled: flag(true, `false: no ${what} are written back.`),
  table: textLike(/^[A-Za-z0-9_]{1,64}$/, 'letters, digits and underscores')
    .default(table)
    .describe('Side table; `waybill erp side-tables` prints how to create it. Not used where `upsert` is given.'),
  upsert: query
    .optional()
    .describe(
      'Statement of your own instead of the side table, run for each record with named parameters (docs/write-back.md). It may run twice for the same state.',
    ),
  gone: query.optional().describe(gone),
});

const ofRecords = (table: string, what: string) =>
  group(`Where ${what} are written.`, {
    ...shape(table, what, goneRecord),
    clearPending: query
      .optional()
      .describe(
        `Statement that sets back the flag by which ${what} are pending, once the service has acknowledged what a row says. It has to compare \`:changed_at\` (docs/write-back.md).`,
      ),
  });

const goneRecord =
  'Statement for a record of which nothing is known any more, such as one whose parked message is resolved. Absent: `upsert` with NULL in everything but the key.';

export const writeBackSettings = group(
  'What is written back into the ERP, through an account of its own. Off unless you switch it on.',
  {
    enabled: flag(false, 'true: the ERP is told what became of its records.'),
    host: text.optional().describe('Server to write to. Default: erp.host.'),
    port: whole(1, 65_535).optional().describe('Port of that server. Default: erp.port.'),
    database: text.optional().describe('Database to write to. Default: erp.database.'),
    user: text
      .optional()
      .describe('An account of its own, with no more than the grants that `waybill erp side-tables` prints.'),
    password: secret.optional().describe('Password of that account. Only from the environment; prefer passwordFile.'),
    passwordFile: secretFile('the password', 'write-back-password'),
    tls: databaseTls('write-back-tls-key').describe(
      'Secure connection to that server. Where writeBack.host is not set, what is not given here is as in erp.tls.',
    ),
    batchSize: whole(1, 1000, 'records').default(200).describe('Records written in one transaction.'),
    timeoutSeconds: positive(60)
      .default(20)
      .describe(
        'Longest time one statement may take. After that its transaction is rolled back and tried again later.',
      ),
    sweepHours: positive(8760)
      .default(24)
      .describe('How often everything is compared with what was written, not only what is known to have changed.'),
    orders: ofRecords('waybill_orders', 'orders'),
    customers: ofRecords('waybill_customers', 'customers'),
    invoices: group(
      'Where invoices are written.',
      shape(
        'waybill_invoices',
        'invoices',
        'Statement for an invoice that is no longer listed. Absent: `upsert`, with no_longer_listed_at.',
      ),
    ),
  },
);

export type WriteBackSettings = z.output<typeof writeBackSettings>;
export type WriteBackTarget = WriteBackSettings['invoices'];
