import { z } from 'zod';
import { amountsSettings, captureSettings, customersSettings, erpSettings, ordersSettings } from './erp-settings.js';
import { invoicesSettings } from './invoices-settings.js';
import { mysqlConnection } from './mysql-connection.js';
import { alertSettings, retentionSettings } from './operations-settings.js';
import { scheduleSettings } from './schedule-settings.js';
import { deliverySettings, serviceSettings } from './service-settings.js';
import { webhookSettings } from './webhook-settings.js';
import { writeBackSettings } from './write-back-settings.js';

const witnessFile = z
  .string()
  .min(1)
  .optional()
  .describe(
    'File outside of the store that remembers how far the store had come, so that a lost or restored store is noticed. Keep it out of the store’s backups. Absent: in a folder `witness` beside the SQLite file, or in data/witness under the working folder, with the name of the store. Relative as store.file.',
  );

const storeSettings = z
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

/** Every setting of Waybill: its name, default, unit (in the name) and meaning. docs/settings.md is printed from it. */
export const settingsSchema = z.strictObject({
  installation: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{2,63}$/, 'not 3 to 64 letters, digits, dots, dashes or underscores')
    .describe('Name of this installation. Every idempotency key is made from it: never change it, never use it twice.')
    .meta({ allowed: '3 to 64 letters, digits, dots, dashes or underscores' }),
  erp: erpSettings,
  customers: customersSettings.prefault({}),
  orders: ordersSettings,
  amounts: amountsSettings,
  capture: captureSettings.prefault({}),
  store: storeSettings.prefault({ type: 'sqlite' }),
  service: serviceSettings,
  delivery: deliverySettings.prefault({}),
  invoices: invoicesSettings.prefault({}),
  writeBack: writeBackSettings.prefault({}),
  webhooks: webhookSettings.prefault({}),
  schedule: scheduleSettings.prefault({}),
  alert: alertSettings.prefault({}),
  retention: retentionSettings.prefault({}),
  log: z
    .strictObject({
      level: z
        .enum(['error', 'warn', 'info', 'debug'])
        .default('info')
        .describe('Least important lines that are logged.'),
    })
    .describe('What is logged.')
    .prefault({}),
});

export type Settings = z.output<typeof settingsSchema>;
export type StoreSettings = Settings['store'];
