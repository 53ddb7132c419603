import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite';
import PQueue from 'p-queue';
import type { WritableErpDatabase, WriteStatement } from '../erp-database.js';
import { WriteBackError, type WriteBackErrorKind } from '../write-back/erp-writer.js';
import { type SqliteSettings, sqliteCode, sqliteDialect, untilNotBusy } from './sqlite-erp.js';

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

  transaction(statements: readonly WriteStatement[], what: string): Promise<void> {
    return this.#whenFree(what, (database) => {
      database.exec('BEGIN IMMEDIATE');
      for (const { sql, values } of statements) database.prepare(sql).run(...values);
      database.exec('COMMIT');
    });
  }

  firstColumn({ sql, values }: WriteStatement, what: string): Promise<string[]> {
    return this.#whenFree(what, (database) =>
      database
        .prepare(sql)
        .all(...values)
        .map((row) => String(Object.values(row as object)[0])),
    );
  }

  identity(): string {
    return `sqlite:${this.#file}`;
  }

  close(): Promise<void> {
    return this.#queue.onIdle();
  }

  #whenFree<T>(what: string, work: (database: DatabaseSyncInstance) => T): Promise<T> {
    return this.#queue.add(async () => {
      try {
        return await untilNotBusy(this.#waitMs, () => {
          // A writer would create the file.
          const database = new DatabaseSync(`${pathToFileURL(this.#file).href}?mode=rw`, { timeout: 0 });
          try {
            return work(database);
          } finally {
            // Closing alone keeps the lock until the statement that failed is collected as garbage.
            if (database.isTransaction) database.exec('ROLLBACK');
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
