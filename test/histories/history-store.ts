import type { SqliteFile } from '../../src/db/sqlite/driver.js';
import { storeDataSource } from '../../src/store/data-source.js';
import { forgetLastLines } from '../../src/store/last-lines.js';
import { Store } from '../../src/store/store.js';
import { witnessSql } from '../torture/store-witness.js';

export interface HistoryStore {
  store: Store;
  /** Empty, as if it were new; from here on its database's clock is this one. */
  begin(nowMs: () => number): void;
  /** Reads at once, beside every transaction. */
  // biome-ignore lint/suspicious/noExplicitAny: the caller names what it selects
  rows<Row = any>(sql: string, ...parameters: unknown[]): Row[];
}

/** A real SQLite store in memory, with the torture's witness in it, that thousands of histories use one after the other. */
export async function openHistoryStore(): Promise<HistoryStore> {
  const dataSource = await (await storeDataSource({ type: 'sqlite', file: ':memory:' })).initialize();
  await dataSource.runMigrations({ transaction: 'none' });
  for (const sql of witnessSql('sqlite')) await dataSource.query(sql);
  const database = (dataSource.driver as unknown as { databaseConnection: SqliteFile }).databaseConnection;
  let nowMs = () => 0;
  // The database's own clock, by which leases end: as good as injected.
  database.function('julianday', (_moment) => nowMs() / 86_400_000 + 2_440_587.5);
  const tables = database
    .prepare("SELECT name FROM sqlite_master WHERE type='table' AND name NOT IN ('migration','sqlite_sequence')")
    .pluck()
    .all() as string[];
  const empty = [...tables, 'sqlite_sequence'].map((table) => `DELETE FROM ${table}`).join(';');
  const prepared = new Map<string, ReturnType<SqliteFile['prepare']>>();
  const store = new Store(dataSource);
  return {
    store,
    begin: (clock) => {
      nowMs = clock;
      forgetLastLines(store);
      database.exec(`${empty}; INSERT INTO store_info (name, value) VALUES ('incarnation', 'one of many')`);
    },
    rows: <Row>(sql: string, ...parameters: unknown[]) => {
      const statement = prepared.get(sql) ?? database.prepare(sql);
      prepared.set(sql, statement);
      return statement.all(...parameters) as Row[];
    },
  };
}
