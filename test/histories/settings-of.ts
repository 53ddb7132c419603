import { settingsFrom } from '../../src/config/load-settings.js';
import type { Settings } from '../../src/config/settings.js';
import { sampleErpMapping } from '../../src/lab/sample-erp/create-sample-erp.js';
import { keyLifetimeMs, limit } from './profile.js';
import type { Setup } from './step.js';

const known = new Map<string, Settings>();

/** Settings as a configuration would make them. */
export function settingsOf(setup: Setup): Settings {
  const { replaysRefusals, updatesBy, onCancelled, onDeleted, lookUp, isProduction } = setup;
  const name = JSON.stringify({ ...setup, seed: 0 });
  const settings =
    known.get(name) ??
    settingsFrom({
      ...sampleErpMapping,
      orders: {
        ...sampleErpMapping.orders,
        cancelled: { column: 'status', values: ['cancelled'] },
        onCancelled,
        onDeleted,
      },
      installation: 'histories',
      erp: { ...sampleErpMapping.erp, type: 'sqlite', file: 'not-used.sqlite' },
      store: { type: 'sqlite', file: 'not-used.sqlite' },
      service: {
        environment: isProduction ? 'production' : 'sandbox',
        baseUrl: 'http://127.0.0.1:1',
        token: 'a-token',
        deadlineSeconds: 5,
        concurrency: 2,
        limits: [{ requests: limit.requests, perSeconds: limit.windowMs / 1000 }],
        idempotency: { replaysRefusals, lifetimeHours: keyLifetimeMs / 3_600_000 },
        endpoints: {
          updateOrder: { method: updatesBy },
          updateCustomer: { method: updatesBy },
          ...(lookUp === 'none' ? {} : lookUps(lookUp === 'proves')),
        },
      },
      capture: { deletedAfterMinutes: 0 },
      delivery: { leaseSeconds: 25, backoffBaseSeconds: 1, backoffMaxSeconds: 30, probeSeconds: 5, quickResends: 0 },
      invoices: { pageSize: 2 },
      retention: { messagesDays: 1, bodiesDays: 1, auditDays: 1, batchSize: 10 },
    });
  known.set(name, settings);
  return settings;
}

function lookUps(absenceProves: boolean) {
  return {
    lookUpOrder: {
      path: '/v1/orders',
      query: { reference: '{note}' },
      list: 'orders',
      id: 'order_id',
      match: { note: '{note}' },
      total: 'total',
      absenceProves,
    },
    lookUpCustomer: {
      path: '/v1/customers/{customer_code}',
      id: 'customer_code',
      match: { customer_code: '{customer_code}' },
      absenceProves,
    },
  };
}
