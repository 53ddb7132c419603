import { join } from 'node:path';
import { settingList } from '../../../src/config/setting-list.js';
import type { Personality } from './service.js';

// biome-ignore lint/suspicious/noExplicitAny: as it stands in the file
export type SettingsTree = { [name: string]: any };

/** The longest time for a request. */
export const deadlineMs = 5_000;
/** The time for which the service may work on one that nobody waits for any more. */
export const maxProcessingMs = 120_000;
export const webhookPort = 8787;
export const webhookSecret = Buffer.from('a simulated secret of 32 bytes..').toString('base64');

/** The key of an order as its query shows it. */
export const presentations: Record<string, (id: number) => string> = {
  id: String,
  'CAST(id AS TEXT)': String,
  "printf('%06d', id)": (id) => String(id).padStart(6, '0'),
};

/** The world can be laid over an older version as well, which refuses what it does not know. */
const isSetting = (path: string) => settingList.some((one) => one.path === path);

/** A configuration that is true of this service. */
export function settingsFor({ folder, personality }: { folder: string; personality: Personality }): SettingsTree {
  const { announces, removals, keyLifetimeMs, comparesBodies, stores, customerIds, lookUp, updates, limit } =
    personality;
  return {
    installation: 'simulated',
    erp: { type: 'sqlite', file: join(folder, 'erp', 'erp.sqlite'), timeZone: 'UTC' },
    customers: {
      send: 'referenced',
      query: 'SELECT id, code, name, email, status, ref, updated_at FROM customers',
      key: 'id',
      changedAt: 'updated_at',
      cancelled: { column: 'status', values: ['closed'] },
      ...removals.customers,
      fields: { customer_code: 'code', name: 'name', email: { column: 'email', optional: true }, ref: 'ref' },
    },
    orders: {
      query: 'SELECT * FROM orders',
      key: 'id',
      changedAt: 'updated_at',
      pending: "status = 'confirmed'",
      startFrom: { column: 'created_at', from: '2026-01-01' },
      customerKey: 'customer_id',
      number: 'number',
      total: 'total',
      cancelled: { column: 'status', values: ['cancelled'] },
      ...removals.orders,
      lines: {
        query:
          'SELECT l.order_id, o.okey, l.line_no, l.sku, l.qty, l.price FROM lines l JOIN orders o ON o.id = l.order_id',
        orderKey: 'order_id',
        sortBy: 'line_no',
        fields: { sku: 'sku', qty: 'qty', price: 'price' },
      },
      fields: { ref: 'ref', remark: { column: 'remark', optional: true } },
    },
    amounts: { currency: 'EUR', scale: 2 },
    service: {
      environment: 'sandbox',
      baseUrl: 'http://127.0.0.1:9',
      deadlineSeconds: deadlineMs / 1000,
      ...(isSetting('service.maxProcessingSeconds') ? { maxProcessingSeconds: maxProcessingMs / 1000 } : {}),
      concurrency: 4,
      limits: limit ? [{ requests: limit.requests, perSeconds: limit.perMs / 1000 }] : [],
      idempotency: {
        ...(keyLifetimeMs === null ? {} : { lifetimeHours: keyLifetimeMs / 3_600_000 }),
        replaysRefusals: keyLifetimeMs !== null && stores !== 'successes',
        comparesBodies,
      },
      ...(customerIds === 'own'
        ? { acknowledgement: { customerId: 'customer_id' }, adoption: { idField: 'customer_id' } }
        : {}),
      endpoints: {
        updateOrder: { method: updates },
        updateCustomer: {
          method: updates,
          path: customerIds === 'own' ? '/v1/customers/{id}' : '/v1/customers/{customer_code}',
        },
        deleteCustomer: { path: customerIds === 'own' ? '/v1/customers/{id}' : '/v1/customers/{customer_code}' },
        readCustomer: {},
        readOrder: {},
        readInvoice: { path: '/v2/invoices/{invoice_no}' },
        ...(lookUp === 'none' ? {} : lookUps(lookUp === 'at once', customerIds)),
      },
    },
    store: { type: 'sqlite', file: join(folder, 'store', 'waybill.sqlite') },
    invoices: { pageSize: 2 },
    webhooks: announces ? { enabled: true, port: webhookPort, secretFiles: ['webhook-secret'] } : { enabled: false },
    desk: { enabled: personality.hasDesk, usersFile: 'desk-users' },
    capture: { overlapSeconds: 600 },
    delivery: { backoffBaseSeconds: 1, backoffMaxSeconds: 30 },
  };
}

/** Asked by the one field that is never used twice, so that what is found is the record. */
function lookUps(absenceProves: boolean, customerIds: Personality['customerIds']) {
  return {
    lookUpOrder: {
      path: '/v1/orders',
      query: { ref: '{ref}' },
      list: 'data',
      id: 'order_id',
      match: { ref: '{ref}' },
      total: 'total',
      absenceProves,
    },
    lookUpCustomer: {
      path: '/v1/customers',
      query: { customer_code: '{customer_code}' },
      list: 'data',
      id: customerIds === 'own' ? 'customer_id' : 'customer_code',
      match: { customer_code: '{customer_code}' },
      absenceProves,
    },
  };
}
