import { DatabaseSync, type DatabaseSyncInstance, type StatementSyncInstance } from '@photostructure/sqlite';

interface Options {
  readonly: boolean;
  fileMustExist: boolean;
  /** In milliseconds. */
  timeout: number;
}

/**
 * SQLite with the API of `node:sqlite`, which Node 20 lacks, in the shape that TypeORM asks of its driver `better-sqlite3`:
 * that package needs a compiler on Node 20, and another major version from Node 22 on.
 */
export class SqliteDriver {
  readonly database: DatabaseSyncInstance;

  constructor(file: string, { readonly, fileMustExist, timeout }: Options) {
    // Only a file that is opened for writing would be created.
    if (fileMustExist && !readonly) throw new Error('a file that must exist is opened for reading only');
    this.database = withCode(() => new DatabaseSync(file, { readOnly: readonly, timeout }));
  }

  pragma(text: string): unknown[] {
    return withCode(() => this.database.prepare(`PRAGMA ${text}`).all());
  }

  prepare(sql: string): SqliteStatement {
    return withCode(() => new SqliteStatement(this.database.prepare(sql)));
  }

  close(): void {
    this.database.close();
  }
}

class SqliteStatement {
  /** Whether it gives rows. */
  readonly reader: boolean;
  readonly #statement: StatementSyncInstance;

  constructor(statement: StatementSyncInstance) {
    this.#statement = statement;
    this.reader = statement.columns().length > 0;
  }

  all(...values: unknown[]): unknown[] {
    return withCode(() => this.#statement.all(...values));
  }

  run(...values: unknown[]): { changes: number | bigint; lastInsertRowid: number | bigint } {
    return withCode(() => this.#statement.run(...values));
  }
}

/** `code` says only that SQLite refused (ERR_SQLITE_ERROR); SQLite's own code says why, and is what the store decides by. */
function withCode<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    const { sqliteCodeName, code } = error as { sqliteCodeName?: string; code?: string };
    throw Object.assign(error as Error, { code: sqliteCodeName ?? code });
  }
}
