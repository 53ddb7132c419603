import { z } from 'zod';
import { alertSettings } from './sections/alert.js';
import { amountsSettings } from './sections/amounts.js';
import { captureSettings } from './sections/capture.js';
import { clusterSettings } from './sections/cluster.js';
import { customersSettings } from './sections/customers.js';
import { deliverySettings } from './sections/delivery.js';
import { deskSettings } from './sections/desk.js';
import { erpSettings } from './sections/erp.js';
import { invoicesSettings } from './sections/invoices.js';
import { ordersSettings } from './sections/orders.js';
import { retentionSettings } from './sections/retention.js';
import { scheduleSettings } from './sections/schedule.js';
import { serviceSettings } from './sections/service.js';
import { sourcesSettings } from './sections/sources.js';
import { storeSettings } from './sections/store.js';
import { group, textLike } from './sections/value-types.js';
import { webhookSettings } from './sections/webhooks.js';
import { writeBackSettings } from './sections/write-back.js';

/** Every setting of Waybill: its name, default, unit (in the name) and meaning. docs/settings.md is printed from it. */
export const settingsSchema = z.strictObject({
  installation: textLike(
    /^[A-Za-z0-9][A-Za-z0-9._-]{2,63}$/,
    '3 to 64 letters, digits, dots, dashes or underscores',
  ).describe('Name of this installation. Every idempotency key is made from it: never change it, never use it twice.'),
  erp: erpSettings,
  customers: customersSettings,
  orders: ordersSettings,
  sources: sourcesSettings,
  amounts: amountsSettings,
  capture: captureSettings,
  store: storeSettings,
  cluster: clusterSettings,
  service: serviceSettings,
  delivery: deliverySettings,
  invoices: invoicesSettings,
  writeBack: writeBackSettings,
  webhooks: webhookSettings,
  desk: deskSettings,
  schedule: scheduleSettings,
  alert: alertSettings,
  retention: retentionSettings,
  log: group('What is logged.', {
    level: z
      .enum(['error', 'warn', 'info', 'debug'])
      .default('info')
      .describe('Least important lines that are logged.'),
  }),
});

export type Settings = z.output<typeof settingsSchema> & {
  /** The source whose `erp`, `customers` and `orders` these are; absent: the default one. */
  source?: string;
  /** Names of all sources of `sources`, in the settings as one of them sees them. */
  siblings?: readonly string[];
  /** The same settings with the sections of each source of `sources` in the place of the default one's. */
  named?: readonly Settings[];
};
