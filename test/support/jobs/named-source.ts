import { join } from 'node:path';
import {
  createSampleErp,
  type SampleErpTarget,
  sampleErpMapping,
} from '../../../src/lab/sample-erp/create-sample-erp.js';
import { openSqlite } from '../sqlite-file.js';
import type { LabKit } from './job-lab.js';

/** A further ERP, in a SQLite file. */
export interface NamedSource {
  target: SampleErpTarget & { type: 'sqlite' };
  /** Runs SQL in it. */
  change(sql: string): void;
}

/** One more sample ERP: the same keys and numbers as the first one, for other customers. */
export async function makeNamedSource(
  kit: LabKit,
  name: string,
  { customers = 2, orders = 3 }: { customers?: number; orders?: number } = {},
): Promise<NamedSource> {
  const target = { type: 'sqlite' as const, file: join(kit.folder, `source-${name}-${Date.now()}.sqlite`) };
  await createSampleErp({ target, customers, orders });
  const change = (sql: string) => {
    const database = openSqlite(target.file);
    try {
      database.exec(sql);
    } finally {
      database.close();
    }
  };
  change(`UPDATE customers SET customer_no='${name.slice(0, 6)}-' || customer_no`);
  return { target, change };
}

/** Settings of `sources` with these ERPs. */
export function sourceSettings(sources: Record<string, NamedSource>, ofOrders: object = {}) {
  const { customers, orders, erp } = sampleErpMapping;
  return Object.fromEntries(
    Object.entries(sources).map(([name, { target }]) => [
      name,
      { erp: { ...erp, ...target }, customers, orders: { ...orders, ...ofOrders } },
    ]),
  );
}
