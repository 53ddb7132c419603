import type { DataSource, DataSourceOptions, QueryRunner } from 'typeorm';
import type { StoreSettings } from '../config/sections/store.js';
import type { CatalogueStatements } from './catalogue.js';
import type { InspectionStatements } from './erp-database.js';
import type { Failures } from './failures.js';

export type SqlValue = string | number | null;

/** The driver's words about a failure; drivers fill different parts of it. */
export interface DriverError {
  name?: string;
  message?: string;
  code?: string;
  errno?: number;
  fatal?: boolean;
  severity?: string;
}

interface StatementResult {
  // biome-ignore lint/suspicious/noExplicitAny: rows as the driver gives them
  records: any[];
  affected?: number | undefined;
  raw: unknown;
}

/** A connection, as long as one call needs it. Failures have the driver's own as `driverError`. */
export interface StoreSession {
  /** @param nameOf what the records call a column; absent: as the SQL does */
  query(
    sql: string,
    parameters: readonly SqlValue[],
    nameOf?: (column: string) => string,
  ): Promise<StatementResult> | StatementResult;
  release(): Promise<void> | void;
}

/** The rows that an UPDATE takes its values from. Its parameters stand in `source` or in `set`, never in both. */
export interface UpdateFrom {
  /** Column → expression over `source`, whose alias is `v`; the table's own alias is `t`. */
  set: Readonly<Record<string, string>>;
  /** A SELECT. */
  source: string;
  on: string;
  where: string;
}

/** The form of the schema's columns, which stand once for all databases. */
interface SchemaWords {
  id: string;
  longText: string;
  /** Puts the words of this database in the place of those that all others understand. */
  columns(definition: string): string;
  /** The text after the brackets of CREATE TABLE. */
  end: string;
  /** The clause of ALTER TABLE after which a column may or may not be NULL. */
  nullability(column: string, type: string, as: 'NULL' | 'NOT NULL'): string;
  /** Adds a constraint, unless an interrupted migration has added it. SQLite refuses rows of which the condition is NULL. */
  addCheck(table: string, name: string, condition: string): Promise<void>;
  /** JSON object with one member. @param value an expression: a text, or another such object */
  jsonObject(name: string, value: string): string;
}

/** The rights that the account of the store lacks, and those it has beside, with the SQL that mends each. */
export interface AccountJudgement {
  lacks: string[];
  grants: string[];
  exceeds: string[];
  revokes: string[];
}

/** The query by which `doctor` learns the rights of the store's account. */
export interface StoreAccount {
  /** @param tables of the store */
  ask(tables: readonly string[]): string;
  /** Pure. @param rows what the query has yielded */
  judge(rows: readonly Readonly<Record<string, unknown>>[], database: string): AccountJudgement;
}

/**
 * Options of TypeORM that name the driver's module. Without it TypeORM loads the module by name, and falls back to
 * `node_modules` in the working directory: whoever owns that folder would run code in this process.
 */
export type StoreOptions = DataSourceOptions & { driver: object };

/**
 * All in which one database differs from another as a store. SQL that stands elsewhere is understood by each of them.
 */
export interface StoreDialect {
  readonly name: StoreSettings['type'];
  /** TypeORM's name for it. */
  readonly driver: DataSourceOptions['type'];
  /** The number of transactions at once; others wait in line here, not in the driver. */
  readonly connections: number;
  /** The most messages that are claimed in one transaction, and of which three quarters are settled in one. */
  readonly messagesAtOnce: number;
  options(settings: StoreSettings, readOnly: boolean): StoreOptions;
  /** Its name in messages, e.g. `waybill@db.example:5432/waybill`. */
  place(settings: StoreSettings): string;
  /** Statements stay prepared, so that the same text again costs less. */
  readonly keepsStatements: boolean;
  /** The path of the file, where it leads to another file than the one that was opened, or to none; otherwise null. */
  movedFile?(dataSource: DataSource): string | null;
  /** Opens sessions; absent: TypeORM's. */
  sessions?(dataSource: DataSource): () => StoreSession;
  /** Ends a connection on which a statement is under way; absent: there are none. */
  cut?(connection: object): void;

  readonly begin: readonly string[];
  /** All that is read until the end shows one moment. Null: the copy is made by the database itself, page by page. */
  readonly beginSnapshot: readonly string[] | null;
  /** True if a statement that fails takes its whole transaction with it: a COMMIT would then roll back, and not say so. */
  readonly failureEndsTransaction: boolean;
  /** Statements that take and release a lock of all sessions on this database; the last to take it yields `taken`. Null: BEGIN takes one. */
  readonly migrationLock: { take: readonly string[]; release: readonly string[] } | null;

  /** See `Tx`. */
  readonly forUpdate: string;
  /** Others may lock the rows in the same way, and none may change them. */
  readonly forShare: string;
  readonly skipLocked: string;
  readonly nowMs: string;
  /** True if that may be the clock of another machine. */
  readonly hasOwnClock: boolean;
  /** The statement after personal data was deleted, so that no log of the database keeps it. */
  readonly afterErasing: string | null;
  /** A statement with `?` for its parameters, as the driver takes it. */
  bind(sql: string): string;
  /** The parameter as the driver takes it. */
  parameter(value: SqlValue): SqlValue;
  /** An INSERT that passes over rows whose key is taken. */
  insertNew(insert: string): string;
  /** Follows an INSERT, and comes before the assignments for rows whose key is taken. */
  onTaken(keys: readonly string[]): string;
  /** In these assignments: the value that the INSERT has for a column. */
  inserted(column: string): string;
  readonly returningId: string;
  insertedId(result: { raw: unknown; records: readonly { id: unknown }[] }): number;
  /** A SELECT of so many rows of parameters. @param typeOf a column's type as the schema writes it */
  parameterRows(columns: readonly string[], count: number, typeOf: (column: string) => string): string;
  updateFrom(table: string, update: UpdateFrom): string;
  /** A whole number, however large, as text. */
  asText(expression: string): string;
  /** The sum of whole numbers, as a text that `toSum` reads: exact, however large it is. */
  sumText(expression: string): string;
  toSum(text: string | null): bigint;
  /** A text in which upper and lower case are one, of ASCII letters at least; two are compared by it. */
  caseless(text: string): string;
  /** True if a text holds another; upper and lower case are two things. */
  contains(text: string, part: string): string;

  schemaWords(runner: QueryRunner): Promise<SchemaWords>;
  readonly catalogue: CatalogueStatements;
  /** The statement after rows of a table with the key `id` have come with theirs, if the counter does not follow by itself. */
  moveCounter(table: string): string | null;
  readonly inspection: InspectionStatements;
  /** Yields the first damage that the database finds in its own file, or `ok`. Null: a server looks after its files. */
  readonly damage: string | null;
  /** Null where a database knows no accounts. */
  readonly account: StoreAccount | null;
  /** The cost of a power cut; null if it costs nothing that was acknowledged. */
  durabilityWarning(dataSource: DataSource): Promise<string | null>;

  readonly failures: Failures;
}
