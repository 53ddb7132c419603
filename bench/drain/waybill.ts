import { join } from 'node:path';
import { openApp } from '../../src/app.js';
import { settingsFrom } from '../../src/config/load-settings.js';
import { openSqlite } from '../../test/support/sqlite-file.js';
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
    const counted = type === 'sqlite' ? countStatements() : null;
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
      ...(counted && {
        async work() {
          const rowWrites = await app.store.read('count its changes', (tx) => tx.value('SELECT total_changes()'));
          return { ...counted, rowWrites: Number(rowWrites) };
        },
      }),
    };
  };

/** Counts what the driver of SQLite is told, whoever tells it. */
function countStatements(): { statements: number; commits: number } {
  const counted = { statements: 0, commits: 0 };
  const database = openSqlite(':memory:');
  const prototype = Object.getPrototypeOf(database.prepare('SELECT 1'));
  database.close();
  for (const name of ['run', 'all', 'get', 'iterate']) {
    const plain = prototype[name];
    prototype[name] = function (this: { source: string }, ...values: unknown[]) {
      counted.statements++;
      if (this.source === 'COMMIT') counted.commits++;
      return plain.apply(this, values);
    };
  }
  return counted;
}
