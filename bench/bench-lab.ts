import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type App, openApp } from '../src/app.js';
import { settingsFrom } from '../src/config/load-settings.js';
import { createSampleErp, sampleErpMapping } from '../src/lab/sample-erp/create-sample-erp.js';
import type { SandboxOptions } from '../src/lab/sandbox/options.js';
import { type Sandbox, startSandbox } from '../src/lab/sandbox/start-sandbox.js';

export interface BenchLabOptions {
  installation: string;
  /** Orders that wait in the ERP, of a hundred customers at most. */
  orders: number;
  sandbox: Partial<SandboxOptions>;
  limits: readonly { requests: number; perSeconds: number }[];
  /** Further sections of the settings, with files in the given folder. */
  settings?: (folder: string) => object;
}

/** An ERP with orders, a sandbox, and a connector between them, all of it gone afterwards. */
export async function withBenchLab<T>(
  options: BenchLabOptions,
  measure: (lab: { app: App; sandbox: Sandbox }) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'waybill-bench-'));
  const sandbox = await startSandbox(options.sandbox);
  const file = join(folder, 'erp.sqlite');
  await createSampleErp({
    target: { type: 'sqlite', file },
    customers: Math.min(100, options.orders),
    orders: options.orders,
  });
  const settings = settingsFrom({
    ...sampleErpMapping,
    installation: options.installation,
    erp: { ...sampleErpMapping.erp, type: 'sqlite', file },
    store: { type: 'sqlite', file: join(folder, 'waybill.sqlite') },
    service: {
      environment: 'sandbox',
      baseUrl: sandbox.url,
      token: 'sandbox-token',
      limits: options.limits,
      idempotency: { lifetimeHours: 24 },
    },
    log: { level: 'error' },
    ...options.settings?.(folder),
  });
  const app = await openApp({ settings, role: 'bench', log: 'stderr' });
  try {
    return await measure({ app, sandbox });
  } finally {
    await app.close();
    await sandbox.close();
    await rm(folder, { recursive: true, force: true });
  }
}
