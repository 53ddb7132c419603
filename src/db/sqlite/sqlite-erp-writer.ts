import { resolve } from 'node:path';
import PQueue from 'p-queue';
import type { WritableErpDatabase, WriteStatement } from '../erp-database.js';
import { WriteBackError, type WriteBackErrorKind } from '../erp-failures.js';
import { openSqlite, type SqliteFile, sqliteCode, untilNotBusy } from './driver.js';
import { type SqliteSettings, sqliteDialect } from './sqlite-erp.js';

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

  firstColumn({ sql, values }: WriteStatement, what: string): Promise<string[]> {
    return this.#whenFree(what, (database) =>
      database
        .prepare(sql)
        .pluck()
        .all(...values)
        .map(String),
    );
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
        throw this.#failure(error, what);
      }
    });
  }

  #failure(cause: unknown, what: string): WriteBackError {
    const message = cause instanceof Error ? cause.message : String(cause);
    const kind = kindOfFailure(sqliteCode(cause));
    const advice = kind === 'target' ? ' Make what it names; `waybill erp side-tables` prints what is needed.' : '';
    return new WriteBackError(kind, `Could not write ${what} back into ${this.identity()}: ${message}.${advice}`, {
      cause,
    });
  }
}

function kindOfFailure(code: string): WriteBackErrorKind {
  if (/^SQLITE_(CONSTRAINT|MISMATCH|TOOBIG)/.test(code)) return 'row';
  // Something in the statement: no such table, no such column, no SQL at all.
  return code === 'SQLITE_ERROR' || /^SQLITE_READONLY/.test(code) ? 'target' : 'unreachable';
}
