import { resolve } from 'node:path';
import PQueue from 'p-queue';
import type { WritableErpDatabase, WriteStatement } from '../erp-database.js';
import { writeFailure } from '../failures.js';
import { openSqlite, type SqliteFile, untilNotBusy } from './driver.js';
import { type SqliteSettings, sqliteDialect } from './sqlite-erp.js';
import { sqliteFailures } from './sqlite-failure.js';

/** An ERP in a SQLite file. The file is opened for each transaction, so that a restored one is noticed. */
export class SqliteErpWriter implements WritableErpDatabase {
  readonly dialect = sqliteDialect;
  readonly #file: string;
  readonly #waitMs: number;
  readonly #queue = new PQueue({ concurrency: 1 });

  constructor(erp: SqliteSettings, { timeoutSeconds }: { timeoutSeconds: number }) {
    this.#file = resolve(erp.file);
    this.#waitMs = timeoutSeconds * 1000;
  }

  transaction(statements: readonly WriteStatement[], what: string, mayCommit: () => Promise<void>): Promise<void> {
    return this.#whenFree(what, async (database) => {
      // The file is closed after each attempt, and that rolls back what was not committed.
      database.exec('BEGIN IMMEDIATE');
      for (const { sql, values } of statements) database.prepare(sql).run(...values);
      await mayCommit();
      database.exec('COMMIT');
    });
  }

  rows({ sql, values }: WriteStatement, what: string): Promise<(string | null)[][]> {
    return this.#whenFree(what, (database) => {
      const rows = database
        .prepare(sql)
        .raw()
        .all(...values) as unknown[][];
      return rows.map((row) => row.map((value) => (value === null ? null : String(value))));
    });
  }

  identity(): string {
    return `sqlite:${this.#file}`;
  }

  close(): Promise<void> {
    return this.#queue.onIdle();
  }

  #whenFree<T>(what: string, work: (database: SqliteFile) => T | Promise<T>): Promise<T> {
    return this.#queue.add(async () => {
      try {
        return await untilNotBusy(this.#waitMs, async () => {
          const database = openSqlite(this.#file, { fileMustExist: true, timeout: 0 });
          try {
            return await work(database);
          } finally {
            database.close();
          }
        });
      } catch (error) {
        throw writeFailure(sqliteFailures, error, { what, place: this.identity() });
      }
    });
  }
}
