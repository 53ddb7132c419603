import { isUtf8 } from 'node:buffer';
import type { ColumnKind, Sql, SqlValue } from './sql.js';

export interface ErpColumn {
  name: string;
  kind: ColumnKind;
  /** How the database writes a date and time in this column, where the column decides it; else it is learnt from a value. */
  fractionDigits: number | null;
  /** Why this column can't be a key or a cursor, with what to do instead. */
  keyProblem: string | null;
}

/** Column name → the value as the database writes it. Nothing passes through a float or a Date. */
export type ErpRow = Readonly<Record<string, string | null>>;

export interface ErpResult {
  columns: ErpColumn[];
  rows: ErpRow[];
}

/** Reads within one consistent snapshot. `doing` completes the sentence "Could not … ". */
export interface ErpSnapshot {
  query(statement: Sql, doing: string): Promise<ErpResult>;
  /** The columns of `SELECT q.* FROM (query) q`, read for no rows. */
  describe(statement: Sql, doing: string): Promise<ErpColumn[]>;
  /** The database's clock in UTC, `YYYY-MM-DD HH:MM:SS.ffffff`. */
  nowUtc(): Promise<string>;
}

/** The seam to one kind of database. Everything above it is the same for all of them. */
export interface ErpDatabase {
  /** Runs one reader at a time; the snapshot is ended whatever happens. */
  snapshot<T>(read: (snapshot: ErpSnapshot) => Promise<T>): Promise<T>;
  quoteIdentifier(name: string): string;
  /** `(a, b) IN (…)` in the form that this database serves from an index. At least one tuple. */
  tupleIn(columns: readonly Sql[], tuples: readonly (readonly SqlValue[])[]): Sql;
  /** An expression that names the type of a value: only where a column's kind can be `unknown`. */
  typeOf?(column: Sql): Sql;
  /** Host and database, or the file. Never an account or a password. */
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
