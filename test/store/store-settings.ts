import { settingsFrom } from '../../src/config/load-settings.js';
import type { StoreSettings } from '../../src/config/sections/store.js';

interface Account {
  host: string;
  port: number;
  database: string;
  user: string;
  password: string;
}

export function serverSettings(
  type: StoreSettings['type'],
  { host, port, database, user, password }: Account,
): StoreSettings {
  return storeSettings({ type, host, port, database, user, password });
}

/** Checked as a configuration is. */
export function storeSettings(store: object): StoreSettings {
  const { service } = settingsAround({});
  return settingsFrom({ ...settingsAround({ store }), service: { ...service, token: 'test-token' } }).store;
}

/** A whole configuration in which everything but this is beside the point; the token is not in it. */
export function settingsAround(sections: object) {
  return {
    installation: 'test-office',
    erp: { type: 'sqlite', file: 'erp.sqlite', timeZone: 'UTC' },
    customers: { send: 'none' },
    orders: {
      query: 'SELECT * FROM orders',
      key: 'id',
      startFrom: 'all',
      fields: { customer_code: 'customer' },
      lines: {
        query: 'SELECT * FROM lines',
        orderKey: 'order_id',
        sortBy: 'id',
        fields: { sku: 'sku', qty: 'qty', price: 'price' },
      },
    },
    amounts: { currency: 'EUR' },
    service: { environment: 'sandbox', baseUrl: 'http://127.0.0.1:1' },
    ...sections,
  };
}
