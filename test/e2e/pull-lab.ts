import { join } from 'node:path';
import { createSampleErp } from '../../src/lab/sample-erp/create-sample-erp.js';
import { type Sandbox, startSandbox } from '../../src/lab/sandbox/start-sandbox.js';
import { openSqlite } from '../support/sqlite-file.js';
import { canary, Installation } from './installation.js';

/** A real process that pulls invoices from a sandbox into a SQLite store, and somebody who reads that store beside it. */
export interface PullLab {
  sandbox: Sandbox;
  waybill: Installation;
  /** Runs SQL in the store, as the database's own clock would. */
  inStore(sql: string): void;
  /** Numbers of the invoices that a reader finds listed, sorted. */
  listed(): string[];
  /** Looks all the time until `work` ends. @returns every list that was seen, joined by spaces, once */
  watch(work: () => Promise<void>): Promise<Set<string>>;
  close(): Promise<void>;
}

export async function startPullLab(
  folder: string,
  maxPageSize: number,
  settings: Record<string, unknown> = {},
): Promise<PullLab> {
  const file = join(folder, 'erp.sqlite');
  await createSampleErp({ target: { type: 'sqlite', file }, customers: 1, orders: 1 });
  const sandbox = await startSandbox({ token: canary.token, maxPageSize });
  const waybill = new Installation({
    folder,
    serviceUrl: sandbox.url,
    erp: { type: 'sqlite', file },
    store: { type: 'sqlite' },
    settings: {
      service: {
        environment: 'sandbox',
        baseUrl: sandbox.url,
        // A successor waits for one window of the limit.
        limits: [{ requests: 1_000, perSeconds: 0.2 }],
      },
      invoices: { pageSize: maxPageSize },
      ...settings,
    },
  });
  const listed = () => {
    const database = openSqlite(waybill.storeFile, { readonly: true });
    try {
      return database
        .prepare('SELECT invoice_no FROM invoice WHERE unlisted_at IS NULL ORDER BY invoice_no')
        .pluck()
        .all() as string[];
    } finally {
      database.close();
    }
  };
  return {
    sandbox,
    waybill,
    listed,
    inStore: (sql) => {
      const database = openSqlite(waybill.storeFile);
      try {
        database.exec(sql);
      } finally {
        database.close();
      }
    },
    watch: async (work) => {
      const seen = new Set([listed().join(' ')]);
      const looking = setInterval(() => seen.add(listed().join(' ')), 3);
      try {
        await work();
      } finally {
        clearInterval(looking);
      }
      return seen.add(listed().join(' '));
    },
    close: () => sandbox.close(),
  };
}
