import { isUtf8 } from 'node:buffer';
import type { CatalogueStatements } from './catalogue.js';
import type { ColumnKind, Sql, SqlValue } from './sql.js';

export interface ErpColumn {
  name: string;
  kind: ColumnKind;
  /** The form of a date and time in this column, if the column decides it; else a value shows it. */
  fractionDigits: number | null;
  /** Decimal places with which the database writes each number of this column; absent or null: the type does not say. */
  scale?: number | null;
  /** Why this column can't be a key or a cursor, with what to do instead. */
  keyProblem: string | null;
  /** Why no record can be made of this column, with what to do instead. */
  valueProblem?: string | null;
  /** True if a text may be a value of this column, because the database refuses to compare it with any other. */
  accepts?(text: string): boolean;
  /** The type of a column in floating point, where the database tells it apart from an exact one. */
  float: 'FLOAT' | 'DOUBLE' | null;
}

/** Column name → the value as the database writes it. Nothing passes through a float or a Date. */
export type ErpRow = Readonly<Record<string, string | null>>;

export interface ErpResult {
  columns: ErpColumn[];
  rows: ErpRow[];
}

/** The SQL of one kind of database. Pure, without a connection. */
export interface ErpDialect {
  quoteIdentifier(name: string): string;
  /** `(a, b) IN (…)` in the form that this database serves from an index. At least one tuple. */
  tupleIn(columns: readonly Sql[], tuples: readonly (readonly SqlValue[])[]): Sql;
  /** An expression that names the type of a value: only where a column's kind can be `unknown`. */
  typeOf?(column: Sql): Sql;
  /** Sets the session's zone to an offset, where the value of an expression may depend on it. */
  setTimeZone?(offset: string): Sql;
  /** Null where the server does not know the zone by its name. */
  zoneIsKnown?(timeZone: string): Sql;
  /** The conversions of the last statement: its column Message, code 1292. Only where that is no error. */
  warnings?: Sql;
  /** Marks a place to go back to, where a statement that fails would end the whole snapshot. */
  savepoint?: { set: Sql; back: Sql };
  /** The database's clock in UTC, `YYYY-MM-DD HH:MM:SS.ffffff`, as an expression. */
  nowUtc: Sql;
  /** True if a backslash in quotes takes away the meaning of the next character. */
  backslashEscapes: boolean;
  /** The source of a regular expression for a comment that ends with its line. */
  lineComment: string;
  /** A column, as an administrator would write it, compared as a text. */
  asText(column: string): string;
  /** The text in a column of Latin-1 bytes. */
  fromLatin1(column: string): string;
  /** The bytes of a column as hexadecimal digits: a key that is compared as a text. */
  asHex(column: string): string;
  /** The texts of several columns with a blank between those that are not empty. */
  joinTexts(columns: readonly string[]): string;
  /** The mark in a statement for the value at this place, counted from 1. */
  placeholder(at: number): string;
  /** The clause that turns an INSERT into an update of the row with the same key. */
  onConflict(key: string): string;
  /** True if `onConflict` inserts a second row where no unique key is the column alone; others refuse the statement. */
  insertsTwiceWithoutKey: boolean;
  /** In that update, the value that the INSERT gives to the column. */
  insertedValue(column: string): string;
  /** A table of the write-back with its database, where a statement may name another one. */
  tableIn(database: string, table: string): string;
  /** The types of a side table: of its key, which is compared letter by letter, and of a date with its time. */
  keyType: string;
  timeType: string;
  /** The text after the columns of CREATE TABLE. */
  tableOptions: string;
  /** The statements that make an account, and let it write to tables; null where there are no accounts. */
  /**
   * The columns of an index, as many of them as one index holds, as CREATE INDEX names them; without it, each by its name and
   * whole.
   */
  indexColumns?(columns: readonly { name: string; type: string }[]): string[];
  account: {
    create(user: string, from: string): string;
    grant(table: string, user: string, from: string): string;
    /** Takes from it what it may write. @param excess as `writeRights` says it */
    revoke(excess: readonly string[], user: string, from: string): string[];
    /** The statements that let it read tables and nothing else. */
    grantReading(tables: readonly TableName[], user: string, from: string, database: string): string[];
  } | null;
  catalogue: CatalogueStatements;
  inspection: InspectionStatements;
}

/** A table of the ERP. */
export interface TableName {
  /** Null where a database has no schemas. */
  schema: string | null;
  /** True if a statement of this account finds it without its schema. */
  isInPath: boolean;
  name: string;
}

/** The questions to one kind of database about itself, for `waybill doctor`. */
export interface InspectionStatements {
  /** One row with the text columns `version`, `charset` and `zone`. */
  server: Sql;
  /** Reads rows that `writeRights` understands, also of roles that the account may take; null where there are no accounts. */
  rights: ((query: ErpSnapshot['query']) => Promise<readonly ErpRow[]>) | null;
  /** The account's rights beside reading, in words: `UPDATE on erp.orders`, ``role `clerk`: UPDATE on erp.orders``. Pure. */
  writeRights(rows: readonly ErpRow[]): string[];
  /** Tables, in `table_name`, of which the account may not see every row; null where there is no such thing. */
  hiddenTables: Sql | null;
  /** True if the value of a column is an amount with a rest of floating point, and the type of a column does not tell. */
  inexact?(column: Sql): Sql;
  explain: {
    of(statement: Sql): Sql;
    scans(plan: readonly ErpRow[]): Scan[];
  };
}

/** A table that a plan reads whole. */
export interface Scan {
  /** Null where the plan does not tell. */
  schema: string | null;
  /** Its name, or its alias in the statement. */
  name: string;
}

/** A read that scans repeat all day. */
export type ScanRead = 'changed_rows' | 'lines' | 'customers';

/** Reads within one consistent snapshot. `doing` completes the sentence "Could not … ". */
export interface ErpSnapshot {
  readonly dialect: ErpDialect;
  /** The answer of `dialect.nowUtc` when the snapshot was taken; absent: it has to be asked for. */
  readonly now?: string;
  /** @param read tells whoever watches the statements which read of a scan it is, and the setting of its query */
  query(statement: Sql, doing: string, read?: { of: ScanRead; setting: string }): Promise<ErpResult>;
  /**
   * The second meaning of a configured statement to others at this server, with a form that has one meaning; null:
   * there is none.
   */
  misread?(statement: string): string | null;
}

/** The seam to one kind of database for reading. Everything above it is the same for all of them. */
export interface ErpDatabase {
  /** Runs one reader at a time, and ends the snapshot even when the reader fails. */
  snapshot<T>(read: (snapshot: ErpSnapshot) => Promise<T>): Promise<T>;
  /** Host and database, or the file. Never an account or a password. */
  identity(): string;
  close(): Promise<void>;
}

/** A statement with a placeholder of its dialect where each value goes. */
export interface WriteStatement {
  sql: string;
  values: readonly (string | null)[];
}

/** The seam to one kind of database for writing. `what` completes the sentence "Could not write … back". */
export interface WritableErpDatabase {
  readonly dialect: ErpDialect;
  /**
   * Runs all of these in one transaction. `mayCommit` is asked before the commit, while the rows are locked; where it throws, all is
   * rolled back. @throws WriteBackError when it was rolled back
   */
  transaction(statements: readonly WriteStatement[], what: string, mayCommit: () => Promise<void>): Promise<void>;
  /** Runs a query. @returns its rows, with values as text @throws WriteBackError */
  rows(query: WriteStatement, what: string): Promise<(string | null)[][]>;
  identity(): string;
  close(): Promise<void>;
}

/**
 * ERPs keep comments in BLOBs: bytes that are UTF-8 are text. Others become hexadecimal digits behind a NUL, which no
 * text field accepts, so that such a record is shown to a person instead of being sent with replacement characters.
 */
export function bytesAsText(bytes: Buffer): string {
  return isUtf8(bytes) ? bytes.toString('utf8') : `\0${bytes.toString('hex')}`;
}

/** Why a column in floating point is no key. */
export function inexact(float: string): string {
  return `a ${float} is not exact; write CAST(… AS DECIMAL(20, 6)) in the query`;
}

/** The account's own rights, and below them those that only a role brings it: `role clerk: UPDATE on erp.orders`. */
export function ownAndOfRoles(rights: readonly { role: string | null; right: string }[]): string[] {
  const roles = new Map<string, string | null>();
  for (const { role, right } of [...rights].sort((a, b) => Number(a.role !== null) - Number(b.role !== null)))
    if (!roles.has(right)) roles.set(right, role);
  return [...roles].map(([right, role]) => (role === null ? right : `role ${role}: ${right}`));
}
