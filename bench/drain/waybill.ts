import { join } from 'node:path';
import { openApp } from '../../src/app.js';
import { settingsFrom } from '../../src/config/load-settings.js';
import { captureAll, deliverUntil } from '../bench-lab.js';
import { benchMapping, createBenchErp } from './orders.js';
import type { Contender } from './task.js';

/** Waybill with its store in a database of this kind. */
export const waybill =
  (type: 'sqlite' | 'mysql' | 'postgres'): Contender =>
  async ({ orders, waiting, concurrency, serviceUrl, folder, database }) => {
    const file = join(folder, 'erp.sqlite');
    createBenchErp(file, waiting);
    const settings = settingsFrom({
      ...benchMapping,
      installation: 'bench-drain',
      erp: { type: 'sqlite', file, timeZone: 'UTC' },
      store: {
        type,
        witnessFile: join(folder, 'witness.json'),
        ...(type === 'sqlite' ? { file: join(folder, 'waybill.sqlite') } : database),
      },
      service: {
        environment: 'sandbox',
        baseUrl: serviceUrl,
        token: 'a-token-for-the-bench',
        limits: [{ requests: 1_000_000, perSeconds: 1 }],
        concurrency,
        idempotency: { lifetimeHours: 24 },
      },
      log: { level: 'error' },
    });
    const app = await openApp({ settings, role: 'bench', log: 'stderr' });
    await captureAll(app);
    return {
      async drain() {
        const enough = new AbortController();
        await deliverUntil(app, enough.signal, ({ delivered }) => {
          if (delivered.orders >= orders) enough.abort();
        });
      },
      close: () => app.close(),
    };
  };
