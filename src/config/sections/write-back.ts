import { z } from 'zod';
import { query, secret } from './value-types.js';

const target = (table: string, what: string, gone: string) =>
  z
    .strictObject({
      enabled: z.boolean().default(true).describe(`false writes no ${what} back.`),
      table: z
        .string()
        .regex(/^[A-Za-z0-9_]{1,64}$/, 'not letters, digits and underscores')
        .default(table)
        .describe('Side table; `waybill erp side-tables` prints how it is made. Not used where `upsert` is given.')
        .meta({ allowed: 'letters, digits and underscores' }),
      upsert: query
        .optional()
        .describe(
          'Statement of your own instead of the side table, run for each record with named parameters (docs/write-back.md). It may run twice for the same state.',
        ),
      gone: query.optional().describe(gone),
    })
    .prefault({})
    .describe(`Where ${what} are written.`);

const goneRecord =
  'Statement for a record of which nothing is known any more, such as one that was parked and is solved. Absent: `upsert` with NULL in everything but the key.';

export const writeBackSettings = z
  .strictObject({
    enabled: z.boolean().default(false).describe('true writes back into the ERP what became of its records.'),
    host: z.string().min(1).optional().describe('Server that is written to. Default: erp.host.'),
    port: z.number().int().min(1).max(65535).optional().describe('Port of that server. Default: erp.port.'),
    database: z.string().min(1).optional().describe('Database that is written to. Default: erp.database.'),
    user: z
      .string()
      .min(1)
      .optional()
      .describe('An account of its own, with no more than the grants that `waybill erp side-tables` prints.'),
    password: secret.optional().describe('Password of that account. Only from the environment; prefer passwordFile.'),
    passwordFile: z
      .string()
      .min(1)
      .optional()
      .describe(
        'File that holds the password, relative to the configuration folder; credential `write-back-password` under systemd.',
      ),
    batchSize: z
      .number()
      .int()
      .min(1)
      .max(1000)
      .default(200)
      .describe('Records written in one transaction.')
      .meta({ unit: 'records' }),
    timeoutSeconds: z
      .number()
      .positive()
      .max(60)
      .default(20)
      .describe('Longest time that one statement may take; its transaction is then given up and tried again later.'),
    sweepHours: z
      .number()
      .positive()
      .max(8760)
      .default(24)
      .describe('How often everything is compared with what was written, whatever is known to have changed.'),
    orders: target('waybill_orders', 'orders', goneRecord),
    customers: target('waybill_customers', 'customers', goneRecord),
    invoices: target(
      'waybill_invoices',
      'invoices',
      'Statement for an invoice that is no longer listed. Absent: `upsert`, with no_longer_listed_at.',
    ),
  })
  .describe('What is written back into the ERP, with an account of its own. Off unless it is switched on.');

export type WriteBackSettings = z.output<typeof writeBackSettings>;
export type WriteBackTarget = WriteBackSettings['orders'];
