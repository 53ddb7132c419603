import { type Stats, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';
import type { ErpSettings } from '../../config/sections/erp.js';
import { bytesAsText, type ErpColumn, type ErpDatabase, type ErpResult, type ErpSnapshot } from '../erp-database.js';
import { ErpError } from '../erp-error.js';
import { OneAtATime } from '../one-at-a-time.js';
import { type ColumnKind, joinSql, rawSql, type Sql, type SqlValue, sql } from '../sql.js';

type SqliteSettings = Extract<ErpSettings, { type: 'sqlite' }>;

const RETRY_BUSY_MS = 50;

/** An ERP in a SQLite file, opened for reading only. */
export class SqliteErp implements ErpDatabase {
  readonly #file: string;
  readonly #waitMs: number;
  readonly #queue = new OneAtATime();
  #open: { database: Database.Database; file: Stats } | null = null;

  constructor({ file, queryTimeoutSeconds }: SqliteSettings) {
    this.#file = resolve(file);
    this.#waitMs = queryTimeoutSeconds * 1000;
  }

  snapshot<T>(read: (snapshot: ErpSnapshot) => Promise<T>): Promise<T> {
    return this.#queue.run(async () => {
      const database = this.#database();
      await this.#begin(database);
      try {
        return await read(new SqliteSnapshot(database, this.identity()));
      } finally {
        if (database.inTransaction) database.exec('ROLLBACK');
      }
    });
  }

  /** A restored backup is another file under the same name. */
  #database(): Database.Database {
    try {
      const file = statSync(this.#file);
      if (this.#open !== null && this.#open.file.ino === file.ino && this.#open.file.dev === file.dev) {
        return this.#open.database;
      }
      this.#close();
      // A wait inside SQLite would block the whole process, so waiting is done here, by #begin.
      const database = new Database(this.#file, { readonly: true, fileMustExist: true, timeout: 0 });
      this.#open = { database, file };
      return database;
    } catch (error) {
      this.#close();
      throw this.#unreachable('open', error, 'Check erp.file, and that this user may read it.');
    }
  }

  /** Takes the snapshot at once: SQLite would take it only with the first read. */
  async #begin(database: Database.Database): Promise<void> {
    const deadline = performance.now() + this.#waitMs;
    for (;;) {
      try {
        database.exec('BEGIN');
        database.prepare('SELECT COUNT(*) FROM sqlite_master').get();
        return;
      } catch (error) {
        if (database.inTransaction) database.exec('ROLLBACK');
        if (!isBusy(error) || performance.now() >= deadline) {
          if (!isBusy(error)) this.#close();
          throw this.#unreachable('read', error, 'Another program may hold it locked; it is tried again later.');
        }
        await sleep(RETRY_BUSY_MS);
      }
    }
  }

  #unreachable(doing: string, cause: unknown, advice: string): ErpError {
    const detail = cause instanceof Error ? cause.message : String(cause);
    return new ErpError('unreachable', `Could not ${doing} the ERP database ${this.identity()}: ${detail}. ${advice}`, {
      cause,
      detail,
    });
  }

  quoteIdentifier(name: string): string {
    return `"${name.replaceAll('"', '""')}"`;
  }

  /** SQLite limits the depth of an OR, not the length of a list of values. */
  tupleIn(columns: readonly Sql[], tuples: readonly (readonly SqlValue[])[]): Sql {
    const rows = tuples.map((tuple) => tupleSql(tuple));
    if (columns.length > 1) return sql`(${joinSql(columns, ', ')}) IN (VALUES ${joinSql(rows, ', ')})`;
    return sql`${joinSql(columns, ', ')} IN (${joinSql(rows, ', ')})`;
  }

  typeOf(column: Sql): Sql {
    return sql`CASE typeof(${column}) WHEN 'integer' THEN 'number' WHEN 'real' THEN 'number' ELSE 'text' END`;
  }

  identity(): string {
    return `sqlite:${this.#file}`;
  }

  close(): Promise<void> {
    return this.#queue.run(async () => this.#close());
  }

  #close(): void {
    this.#open?.database.close();
    this.#open = null;
  }
}

function tupleSql(tuple: readonly SqlValue[]): Sql {
  const values = joinSql(
    tuple.map((value) => sql`${value}`),
    ', ',
  );
  return tuple.length === 1 ? values : sql`(${values})`;
}

function isBusy(error: unknown): boolean {
  return error instanceof Database.SqliteError && /^SQLITE_(BUSY|LOCKED)/.test(error.code);
}

class SqliteSnapshot implements ErpSnapshot {
  constructor(
    readonly database: Database.Database,
    readonly identity: string,
  ) {}

  async query(statement: Sql, doing: string): Promise<ErpResult> {
    return this.#try(doing, () => {
      const prepared = this.#prepare(statement).safeIntegers(true).raw(true);
      const columns = columnsOf(prepared);
      const rows = prepared.all(...statement.values.map(bind)) as unknown[][];
      return {
        columns,
        rows: rows.map((row) => Object.fromEntries(columns.map(({ name }, index) => [name, textOf(row[index])]))),
      };
    });
  }

  async describe(statement: Sql, doing: string): Promise<ErpColumn[]> {
    return this.#try(doing, () => columnsOf(this.#prepare(statement)));
  }

  async nowUtc(): Promise<string> {
    const { rows } = await this.query(rawSql("SELECT strftime('%Y-%m-%d %H:%M:%f', 'now') AS now"), 'read the clock');
    return `${rows[0]?.now}000`;
  }

  #prepare(statement: Sql): Database.Statement {
    return this.database.prepare(statement.pieces.join('?'));
  }

  #try<T>(doing: string, task: () => T): T {
    try {
      return task();
    } catch (cause) {
      const detail = cause instanceof Error ? cause.message : String(cause);
      throw new ErpError('query', `Could not ${doing} in the ERP database ${this.identity}: ${detail}.`, {
        cause,
        detail,
      });
    }
  }
}

function columnsOf(statement: Database.Statement): ErpColumn[] {
  return statement
    .columns()
    .map(({ name, type }) => ({ name, kind: kindOf(type), fractionDigits: null, keyProblem: null }));
}

/** SQLite's columns have an affinity, not a type; an expression hasn't even that. */
function kindOf(declared: string | null): ColumnKind {
  if (declared === null) return 'unknown';
  if (/INT/i.test(declared)) return 'number';
  if (/CHAR|CLOB|TEXT/i.test(declared)) return 'text';
  if (/TIME/i.test(declared)) return 'datetime';
  if (/^DATE/i.test(declared)) return 'date';
  return /REAL|FLOA|DOUB|NUM|DEC/i.test(declared) ? 'number' : 'text';
}

/** A text that is bound where a column has an affinity is converted by SQLite itself. */
function bind({ text, kind }: SqlValue): string | number | bigint {
  if (kind !== 'number') return text;
  if (/^-?\d{1,18}$/.test(text)) return BigInt(text);
  return /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(text) ? Number(text) : text;
}

function textOf(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  return Buffer.isBuffer(value) ? bytesAsText(value) : String(value);
}
