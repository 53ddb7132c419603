import { join } from 'node:path';
import { openApp } from '../../src/app.js';
import { settingsFrom } from '../../src/config/load-settings.js';
import { keepSmall } from '../../src/v8.js';
import { countStatements } from '../../test/support/count-statements.js';
import { captureAll, deliverUntil } from '../jobs.js';
import { benchMapping, createBenchErp } from './orders.js';
import type { Contender } from './task.js';

/** Waybill with its store in a database of this kind, and so many open pages of its desk. */
export const waybill =
  (type: 'sqlite' | 'mysql' | 'postgres', pages = 0): Contender =>
  async ({ orders, waiting, concurrency, serviceUrl, folder, database }) => {
    keepSmall();
    const desks = pages > 0 ? await import('./open-pages.js') : null;
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
      ...(desks && { desk: desks.deskSettings(folder) }),
    });
    const counted = type === 'sqlite' ? countStatements() : null;
    const app = await openApp({ settings, role: 'bench', log: 'stderr' });
    await captureAll(app);
    const desk = await desks?.openPages(app, pages);
    // The yardsticks have loaded axios before they are measured, too.
    await app.client();
    return {
      async drain() {
        const enough = new AbortController();
        await deliverUntil(app, enough.signal, ({ delivered }) => {
          if (delivered.orders >= orders) enough.abort();
        });
      },
      async close() {
        await desk?.close();
        await app.close();
      },
      ...(counted && {
        async work() {
          const rowWrites = await app.store.read('count its changes', (tx) => tx.value('SELECT total_changes()'));
          return { ...counted, rowWrites: Number(rowWrites) };
        },
      }),
    };
  };
