import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { openApp } from '../../src/app.js';
import { settingsFrom } from '../../src/config/load-settings.js';
import { countStatements } from '../../test/support/count-statements.js';
import { captureAll, deliverUntil } from '../bench-lab.js';
import { deskSettings, openPages } from './open-pages.js';
import { benchMapping, createBenchErp } from './orders.js';
import type { Contender } from './task.js';

/** As main.ts says it. */
export function setFlagsOfMain(): void {
  setFlagsFromString('--heap-growing-percent=30');
  setFlagsFromString('--semi-space-growth-factor=1');
}

/** Waybill with its store in a database of this kind, and so many open pages of its desk. */
export const waybill =
  (type: 'sqlite' | 'mysql' | 'postgres', pages = 0): Contender =>
  async ({ orders, waiting, concurrency, serviceUrl, folder, database }) => {
    setFlagsOfMain();
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
      ...(pages > 0 && { desk: deskSettings(folder) }),
    });
    const counted = type === 'sqlite' ? countStatements() : null;
    const app = await openApp({ settings, role: 'bench', log: 'stderr' });
    await captureAll(app);
    const desk = pages > 0 ? await openPages(app, pages) : null;
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
