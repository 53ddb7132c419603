import { chmodSync, closeSync, mkdirSync, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DataSource } from 'typeorm';
import type { StoreSettings } from '../../config/sections/store.js';
import type { DriverError, SqlValue, StoreDialect, StoreOptions, StoreSession } from '../store-dialect.js';
import { type SqliteFile, sqliteDriver } from './driver.js';
import { sqliteCatalogue, sqliteInspection } from './sqlite-catalogue.js';
import { sqliteFailures } from './sqlite-failure.js';

/** The dialect that SQLite and PostgreSQL share. */
export const standardSql = {
  insertNew: (insert) => `${insert} ON CONFLICT DO NOTHING`,
  onTaken: (keys) => `ON CONFLICT (${keys.join(',')}) DO UPDATE SET`,
  inserted: (column) => `excluded.${column}`,
  updateFrom(table, { set, source, on, where }) {
    const assignments = Object.entries(set).map(([column, value]) => `${column}=${value}`);
    return `UPDATE ${table} AS t SET ${assignments.join(',')} FROM (${source}) AS v WHERE ${on} AND ${where}`;
  },
  asText: (expression) => `CAST(${expression} AS TEXT)`,
  sumText: (expression) => `CAST(SUM(${expression}) AS TEXT)`,
  toSum: (text) => BigInt(text ?? 0),
} satisfies Partial<StoreDialect>;

/** One SELECT a row; for SQLite and MySQL. */
export function unionOfParameters(columns: readonly string[], count: number): string {
  const first = `SELECT ${columns.map((column) => `? AS ${column}`).join(',')}`;
  return first + ` UNION ALL SELECT ${columns.map(() => '?').join(',')}`.repeat(count - 1);
}

const billion = 1_000_000_000;

/** Which file each data source has open, whatever its path leads to later. */
const openedFiles = new WeakMap<DataSource, { ino: number; dev: number }>();
/** The file of each data source, by the function that prepared it. */
const opened = new WeakMap<object, SqliteFile>();

function openedBy({ options }: DataSource): SqliteFile {
  const file = options.type === 'better-sqlite3' && options.prepareDatabase && opened.get(options.prepareDatabase);
  if (!file) throw new Error('The store is not open.');
  return file;
}

export const sqlite: StoreDialect = {
  name: 'sqlite',
  driver: 'better-sqlite3',
  connections: 1,
  // A transaction stops everything else in this process meanwhile.
  messagesAtOnce: 128,
  options(settings, readOnly): StoreOptions {
    const file = fileOf(settings);
    if (!readOnly) createPrivateFile(file);
    const prepareDatabase = (database: SqliteFile) => {
      opened.set(prepareDatabase, database);
      if (!readOnly) database.pragma('journal_mode = WAL');
      database.pragma('busy_timeout = 0');
      if (readOnly) return;
      // In WAL mode only FULL makes a commit survive a power cut.
      database.pragma('synchronous = FULL');
      database.pragma('foreign_keys = ON');
      // Pruned and forgotten data must not stay in the free pages of the file.
      database.pragma('secure_delete = ON');
      // In KiB. The driver takes 16 MB, which a store fills that has become large, and is hardly faster for it.
      database.pragma('cache_size = -4000');
    };
    return {
      type: 'better-sqlite3',
      driver: sqliteDriver(),
      database: file,
      // For the opening only: afterwards `Store` waits, and timers and sockets go on meanwhile.
      timeout: 10_000,
      ...(readOnly ? { readonly: true, fileMustExist: true } : {}),
      prepareDatabase,
    };
  },
  place: fileOf,
  keepsStatements: true,
  movedFile(dataSource) {
    const file = String(dataSource.options.database);
    if (file === ':memory:') return null;
    const now = statSync(file, { throwIfNoEntry: false });
    const opened = openedFiles.get(dataSource);
    if (opened === undefined) {
      if (now) openedFiles.set(dataSource, { ino: now.ino, dev: now.dev });
      return null;
    }
    return now?.ino === opened.ino && now.dev === opened.dev ? null : file;
  },
  sessions(dataSource) {
    const session = preparedSession(dataSource);
    return () => session;
  },

  // With the write lock: a transaction that reads first and writes later can be refused at once.
  begin: ['BEGIN IMMEDIATE'],
  beginSnapshot: null,
  failureEndsTransaction: false,
  migrationLock: null,

  // The transaction holds the write lock already.
  forUpdate: '',
  forShare: '',
  skipLocked: '',
  nowMs: `CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER)`,
  hasOwnClock: false,
  // The write-ahead log still holds the pages as they were.
  afterErasing: 'PRAGMA wal_checkpoint(TRUNCATE)',
  bind: (sql) => sql,
  parameter: (value) => value,
  ...standardSql,
  // A SUM beyond 64 bits is an error here, so the digits behind the billions are added up apart.
  sumText: (expression) => `SUM((${expression})/${billion}) || ' ' || SUM((${expression})%${billion})`,
  toSum(text) {
    const [billions = 0, rest = 0] = text?.split(' ') ?? [];
    return BigInt(billions) * BigInt(billion) + BigInt(rest);
  },
  returningId: '',
  insertedId: ({ raw }) => Number(raw),
  parameterRows: unionOfParameters,
  caseless: (text) => `LOWER(${text})`,
  contains: (text, part) => `INSTR(${text}, ${part})>0`,

  schemaWords: async (runner) => ({
    id: 'INTEGER PRIMARY KEY AUTOINCREMENT',
    longText: 'TEXT',
    columns: (definition) => definition,
    end: '',
    nullability: (column, _type, as) => `ALTER COLUMN ${column} ${as === 'NULL' ? 'DROP' : 'SET'} NOT NULL`,
    addCheck: (table, name, condition) =>
      runner.query(`ALTER TABLE ${table} ADD CONSTRAINT ${name} CHECK (${condition})`),
    jsonObject: (name, value) => `json_object('${name}', ${value})`,
  }),
  catalogue: sqliteCatalogue,
  moveCounter: () => null,
  inspection: sqliteInspection,
  damage: 'SELECT quick_check FROM pragma_quick_check LIMIT 1',
  account: null,
  durabilityWarning: async () => null,

  failures: sqliteFailures,
};

/** The driver's own message is all that is said of a statement that failed. */
class StatementFailed extends Error {
  constructor(readonly driverError: DriverError) {
    super(driverError.message ?? '');
  }
}

interface Prepared {
  statement: ReturnType<typeof prepareIn>;
  /** Its rows, their columns called as the SQL calls them; null: it yields none. */
  rows: RowShape | null;
  /** As its caller calls them. */
  named: RowShape | null;
}

interface RowShape {
  names: readonly string[];
  /**
   * V8 turns an object into a hash table once some twenty fields have been added under computed names. Records are
   * copies of this.
   */
  blank: Readonly<Record<string, null>>;
}
const prepareIn = (file: SqliteFile, sql: string) => file.prepare<unknown[]>(sql);

/** Statements that are kept prepared. Those of lists differ by their length, and so come and go. */
const mostPrepared = 300;

/** The one connection, with its statements prepared once: a query runner a call would cost as much as most statements. */
function preparedSession(dataSource: DataSource): StoreSession {
  const prepared = new Map<string, Prepared>();
  const prepare = (sql: string): Prepared => {
    const known = prepared.get(sql);
    if (known) return known;
    // SQLite plans by the value of a bare LIMIT, and so plans anew each time one is bound: 50 µs where the look itself takes 5.
    const statement = prepareIn(openedBy(dataSource), sql.replaceAll('LIMIT ?', 'LIMIT ?+0'));
    // Rows as lists: the driver makes an object by looking up the name of each column for each row.
    const columns = statement.reader ? statement.raw().columns() : null;
    const made = { statement, rows: columns && shapeOf(columns.map(({ name }) => name)), named: null };
    prepared.set(sql, made);
    if (prepared.size > mostPrepared) prepared.delete(prepared.keys().next().value as string);
    return made;
  };
  return {
    query(sql, parameters, nameOf) {
      try {
        const one = prepare(sql);
        if (one.rows === null) {
          const { changes, lastInsertRowid } = one.statement.run(parameters);
          return { records: [], affected: changes, raw: lastInsertRowid };
        }
        if (nameOf) one.named ??= shapeOf(one.rows.names.map(nameOf));
        const shape = (nameOf && one.named) || one.rows;
        const records = (one.statement.all(parameters) as SqlValue[][]).map((row) => recordOf(shape, row));
        return { records, raw: records };
      } catch (error) {
        throw new StatementFailed(error as DriverError);
      }
    },
    release: () => undefined,
  };
}

function shapeOf(names: readonly string[]): RowShape {
  return { names, blank: Object.fromEntries(names.map((name) => [name, null])) };
}

function recordOf({ names, blank }: RowShape, row: readonly SqlValue[]): Record<string, SqlValue> {
  const record: Record<string, SqlValue> = { ...blank };
  for (let at = 0; at < names.length; at++) record[names[at] as string] = row[at] as SqlValue;
  return record;
}

function fileOf(settings: StoreSettings): string {
  if (settings.type !== 'sqlite') throw new Error(`${settings.type} is no SQLite.`);
  return settings.file;
}

/** Creates the file with mode 0600 before anything is written into it: order data is private. */
function createPrivateFile(file: string): void {
  if (file === ':memory:') return;
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  closeSync(openSync(file, 'a', 0o600));
  chmodSync(file, 0o600);
}
