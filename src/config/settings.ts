import { z } from 'zod';
import { amountsSettings, captureSettings, customersSettings, erpSettings, ordersSettings } from './erp-settings.js';
import { deliverySettings, invoicesSettings, serviceSettings } from './service-settings.js';

const storeSettings = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('sqlite'),
    file: z
      .string()
      .min(1)
      .default('data/waybill.sqlite')
      .describe('Relative to the working folder, or to $STATE_DIRECTORY under systemd.'),
  }),
  z.strictObject({
    type: z.literal('mysql').describe('MySQL or MariaDB.'),
    host: z.string().min(1).default('127.0.0.1'),
    port: z.number().int().min(1).max(65535).default(3306),
    database: z.string().min(1),
    user: z.string().min(1),
    password: z.string().min(1).optional().describe('Only from the environment; prefer passwordFile.'),
    passwordFile: z
      .string()
      .min(1)
      .optional()
      .describe('File that holds the password; credential `store-password` under systemd.'),
  }),
]);

const scheduleSettings = z.strictObject({
  capture: z.string().default('*/30 * * * * *').describe('Cron expression, with seconds: when the ERP is read.'),
  pull: z.string().default('0 */15 * * * *').describe('Cron expression, with seconds: when unpaid invoices are read.'),
  timeZone: z.string().default('UTC').describe('IANA zone of the cron expressions.'),
});

/** Every setting of Waybill: its name, default, unit (in the name) and meaning. docs/settings.md is printed from it. */
export const settingsSchema = z.strictObject({
  installation: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{2,63}$/, '3 to 64 letters, digits, dots, dashes or underscores')
    .describe('Name of this installation. Every idempotency key is made from it: never change it, never use it twice.'),
  erp: erpSettings,
  customers: customersSettings.prefault({}),
  orders: ordersSettings,
  amounts: amountsSettings,
  capture: captureSettings.prefault({}),
  store: storeSettings.prefault({ type: 'sqlite' }),
  service: serviceSettings,
  delivery: deliverySettings.prefault({}),
  invoices: invoicesSettings.prefault({}),
  schedule: scheduleSettings.prefault({}),
  log: z.strictObject({ level: z.enum(['error', 'warn', 'info', 'debug']).default('info') }).prefault({}),
});

export type Settings = z.output<typeof settingsSchema>;
export type StoreSettings = Settings['store'];
