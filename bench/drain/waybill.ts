import { join } from 'node:path';
import { openApp } from '../../src/app.js';
import { settingsFrom } from '../../src/config/load-settings.js';
import { sync } from '../../src/operator/sync.js';
import { benchMapping, createBenchErp } from './orders.js';
import type { Contender } from './task.js';

/** Waybill with its store in a database of this kind. */
export const waybill =
  (type: 'sqlite' | 'mysql' | 'postgres'): Contender =>
  async ({ orders, concurrency, serviceUrl, folder, database }) => {
    const file = join(folder, 'erp.sqlite');
    createBenchErp(file, orders);
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
    const partners = { reader: await app.reader(), client: app.client };
    await sync(app.context, partners, { stages: ['capture'] });
    return {
      drain: async () => void (await sync(app.context, partners, { stages: ['deliver'] })),
      close: () => app.close(),
    };
  };
