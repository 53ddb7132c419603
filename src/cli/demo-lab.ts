import { join } from 'node:path';
import { settingsFrom } from '../config/load-settings.js';
import type { BadRows } from '../lab/sample-erp/sample-rows.js';

export interface DemoOptions {
  orders: number;
  customers: number;
  limit: number;
  desk?: boolean;
  json?: boolean;
}

/** A made-up ERP, a sandbox, and the settings that connect them. @param more settings over these */
export async function demoLab(
  folder: string,
  { customers, orders, limit }: DemoOptions,
  { bad, ...more }: { bad?: BadRows; [section: string]: unknown } = {},
) {
  const { startSandbox } = await import('../lab/sandbox/start-sandbox.js');
  const { createSampleErp, sampleErpMapping } = await import('../lab/sample-erp/create-sample-erp.js');
  const erp = { type: 'sqlite' as const, file: join(folder, 'erp.sqlite') };
  const made = await createSampleErp({ target: erp, customers, orders, ...(bad && { bad }) });
  const sandbox = await startSandbox({ limits: [{ requests: limit, windowMs: 1000 }], delayMs: [0, 20], seed: 1 });
  const settings = settingsFrom({
    ...sampleErpMapping,
    installation: 'waybill-demo',
    erp: { ...sampleErpMapping.erp, ...erp },
    store: { type: 'sqlite', file: join(folder, 'waybill.sqlite') },
    service: {
      environment: 'sandbox',
      baseUrl: sandbox.url,
      token: 'sandbox-token',
      idempotency: { lifetimeHours: 24 },
      limits: [{ requests: limit, perSeconds: 1 }],
    },
    log: { level: 'error' },
    ...more,
  });
  return { made, sandbox, settings, erp };
}
