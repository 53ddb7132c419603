import { type Stats, statSync } from 'node:fs';
import { resolve } from 'node:path';
import PQueue from 'p-queue';
import type { Settings } from '../../config/settings.js';
import { nextTurn } from '../../v8.js';
import { bytesAsText, type ErpDatabase, type ErpDialect, type ErpResult, type ErpSnapshot } from '../erp-database.js';
import type { ErpError } from '../erp-failures.js';
import { readFailure } from '../failures.js';
import { type ColumnKind, isNumberText, joinSql, rawSql, type Sql, type SqlValue, sql } from '../sql.js';
import { isBusy, openSqlite, type SqliteFile, untilNotBusy } from './driver.js';
import { sqliteCatalogue, sqliteInspection } from './sqlite-catalogue.js';
import { sqliteFailures } from './sqlite-failure.js';

export type SqliteSettings = Extract<Settings['erp'], { type: 'sqlite' }>;

const nowUtc = "strftime('%Y-%m-%d %H:%M:%f000', 'now')";

export const sqliteDialect: ErpDialect = {
  quoteIdentifier: (name) => `"${name.replaceAll('"', '""')}"`,
  /** SQLite limits the depth of an OR, not the length of a list of values. */
  tupleIn(columns, tuples) {
    const [column, ...others] = columns;
    if (column !== undefined && others.length === 0) return sql`${column} IN (${joinSql(tuples.flat())})`;
    const rows = tuples.map((tuple) => sql`(${joinSql(tuple)})`);
    return sql`(${joinSql(columns)}) IN (VALUES ${joinSql(rows)})`;
  },
  typeOf: (column) =>
    sql`CASE typeof(${column}) WHEN 'integer' THEN 'number' WHEN 'real' THEN 'number' ELSE 'text' END`,
  nowUtc: rawSql(nowUtc),
  backslashEscapes: false,
  lineComment: '--[^\\n]*',
  asText: (column) => column,
  fromLatin1: (column) => `CONVERT(${column} USING latin1)`,
  asHex: (column) => `HEX(${column})`,
  joinTexts: (columns) => `TRIM(${columns.map((column) => `COALESCE(${column}, '')`).join(" || ' ' || ")})`,
  placeholder: () => '?',
  onConflict: (key) => `ON CONFLICT (${key}) DO UPDATE SET`,
  insertsTwiceWithoutKey: false,
  insertedValue: (column) => `excluded.${column}`,
  tableIn: (_database, table) => sqliteDialect.quoteIdentifier(table),
  keyType: 'VARCHAR(255)',
  timeType: 'DATETIME',
  tableOptions: '',
  account: null,
  catalogue: sqliteCatalogue,
  inspection: sqliteInspection,
};

interface OpenErp {
  database: SqliteFile;
  file: Stats;
  /** Statements by their text. */
  prepared: Map<string, Prepared>;
}

/** An ERP in a SQLite file, opened for reading only. */
export class SqliteErp implements ErpDatabase {
  readonly #file: string;
  readonly #waitMs: number;
  readonly #queue = new PQueue({ concurrency: 1 });
  #open: OpenErp | null = null;

  constructor({ file, queryTimeoutSeconds }: SqliteSettings) {
    this.#file = resolve(file);
    this.#waitMs = queryTimeoutSeconds * 1000;
  }

  snapshot<T>(read: (snapshot: ErpSnapshot) => Promise<T>): Promise<T> {
    return this.#queue.add(async () => {
      const open = this.#opened();
      const { database } = open;
      const now = await this.#begin(database);
      try {
        return await read({
          dialect: sqliteDialect,
          now,
          query: async (statement, doing) => {
            // The driver waits for nothing, so timers, sockets and signals have their turn between two statements.
            await nextTurn();
            try {
              return runQuery(open, statement);
            } catch (error) {
              throw this.#failure(error, doing, 'query');
            }
          },
        });
      } finally {
        if (database.inTransaction) database.exec('ROLLBACK');
      }
    });
  }

  /** A restored backup is another file under the same name. */
  #opened(): OpenErp {
    try {
      const file = statSync(this.#file);
      if (this.#open !== null && this.#open.file.ino === file.ino && this.#open.file.dev === file.dev) {
        return this.#open;
      }
      this.#close();
      // #begin waits for a locked file, not SQLite.
      const database = openSqlite(this.#file, { readonly: true, fileMustExist: true, timeout: 0 });
      this.#open = { database, file, prepared: new Map() };
      return this.#open;
    } catch (error) {
      this.#close();
      throw this.#failure(error, 'open', 'unreachable');
    }
  }

  /** Takes the snapshot at once: SQLite would take it only with the first read. @returns what the clock shows in this moment */
  async #begin(database: SqliteFile): Promise<string> {
    const begin = () => {
      try {
        database.exec('BEGIN');
        const first = `SELECT ${nowUtc} AS now FROM (SELECT COUNT(*) FROM sqlite_master)`;
        return database.prepare<[], { now: string }>(first).get()?.now ?? '';
      } catch (error) {
        if (database.inTransaction) database.exec('ROLLBACK');
        throw error;
      }
    };
    try {
      return await untilNotBusy(this.#waitMs, begin);
    } catch (error) {
      if (!isBusy(error)) this.#close();
      throw this.#failure(error, 'read', 'unreachable');
    }
  }

  #failure(error: unknown, doing: string, otherwise: 'unreachable' | 'query'): ErpError {
    return readFailure(sqliteFailures, error, { doing, place: this.identity(), otherwise });
  }

  identity(): string {
    return `sqlite:${this.#file}`;
  }

  close(): Promise<void> {
    return this.#queue.add(async () => this.#close());
  }

  #close(): void {
    this.#open?.database.close();
    this.#open = null;
  }
}

type Prepared = ReturnType<typeof prepareIn>;
const prepareIn = (database: SqliteFile, text: string) =>
  database.prepare<unknown[], unknown[]>(text).safeIntegers(true).raw(true);

/** Those of a pass come again with every page, and name hundreds of keys. */
const mostPrepared = 20;

function preparedOf({ database, prepared }: OpenErp, text: string): Prepared {
  const known = prepared.get(text);
  if (known !== undefined) return known;
  if (prepared.size >= mostPrepared) prepared.clear();
  const statement = prepareIn(database, text);
  prepared.set(text, statement);
  return statement;
}

function runQuery(open: OpenErp, { pieces, values }: Sql): ErpResult {
  const text = pieces.join('?');
  const statement = preparedOf(open, text);
  const given = values.map(bind);
  // Comes before the columns: SQLite prepares a statement again when it runs, where the schema has changed.
  const rows = statement.all(...given);
  const columns = statement
    .columns()
    .map(({ name, type }) => ({ name, kind: kindOf(type), fractionDigits: null, keyProblem: null, float: null }));
  const names = columns.map(({ name }) => name);
  // A copy of a row that has every name already takes a third of the time of one that is built up, whatever the names are.
  const empty: Record<string, string | null> = Object.fromEntries(names.map((name) => [name, null]));
  let bytes: unknown[][] | undefined;
  const bytesAt = (row: number, at: number) => {
    bytes ??= prepareIn(open.database, asBytes(text, names)).all(...given);
    return bytes[row]?.[at];
  };
  const named = (values: readonly unknown[], place: number) => {
    const row = { ...empty };
    for (let at = 0; at < names.length; at++)
      row[names[at] as string] = textOf(isReplaced(values[at]) ? bytesAt(place, at) : values[at]);
    return row;
  };
  return { columns, rows: rows.map(named) };
}

/** SQLite takes any bytes for a text, and the driver replaces those that are none. */
function isReplaced(value: unknown): boolean {
  return typeof value === 'string' && value.includes('\uFFFD');
}

/** A query for the same values as bytes. */
function asBytes(query: string, names: readonly string[]): string {
  const columns = names.map((name) => `CAST(${sqliteDialect.quoteIdentifier(name)} AS BLOB)`);
  return `SELECT ${columns.join(', ')} FROM (\n${query}\n)`;
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
  if (/^-?\d{1,19}$/.test(text)) {
    // As a double, a key of 17 digits or more would be another one.
    const exact = BigInt(text);
    if (BigInt.asIntN(64, exact) === exact) return exact;
  }
  return isNumberText(text) ? Number(text) : text;
}

function textOf(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  return Buffer.isBuffer(value) ? bytesAsText(value) : String(value);
}
