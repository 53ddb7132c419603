import type { CatalogueStatements } from '../db/catalogue.js';
import type { ErpDialect, ErpRow, ErpSnapshot, TableName } from '../db/erp-database.js';
import { rawSql, type Sql, sql } from '../db/sql.js';

/** number, text, date and time as in a row; other: what no record can be made of, such as bytes or JSON. */
export type CatalogueKind = 'number' | 'text' | 'date' | 'time' | 'boolean' | 'other';

export interface CatalogueColumn {
  name: string;
  /** As the database writes it: `varchar(40)`, `double(24,8)`, `numeric(16,2)`. */
  type: string;
  kind: CatalogueKind;
  isInteger: boolean;
  /** Floating point, which is not exact. */
  isFloat: boolean;
  nullable: boolean;
}

interface CatalogueIndex {
  columns: string[];
  isUnique: boolean;
}

interface ForeignKey {
  columns: string[];
  /** The table that it points to, as `nameOf` writes it. */
  table: string;
  referenced: string[];
}

export interface CatalogueTable extends TableName {
  isView: boolean;
  /** The server's estimate; null if it keeps no such figure, or has none yet. */
  approximateRows: number | null;
  columns: CatalogueColumn[];
  primaryKey: string[];
  /** All indexes that cover whole columns and all rows, the primary key among them. */
  indexes: CatalogueIndex[];
  foreignKeys: ForeignKey[];
}

/** A database's words about its own tables and views, as far as the account may see them. */
export interface Catalogue {
  tables: CatalogueTable[];
}

/** A table in messages and maps: its name, with the schema where that is needed. */
export function nameOf({ schema, isInPath, name }: TableName): string {
  return isInPath ? name : `${schema}.${name}`;
}

/** A table as a statement names it. */
export function tableSql({ quoteIdentifier }: ErpDialect, { schema, isInPath, name }: TableName): string {
  return isInPath ? quoteIdentifier(name) : `${quoteIdentifier(schema ?? '')}.${quoteIdentifier(name)}`;
}

/** Reads the catalogue in four statements. */
export async function readCatalogue({ dialect, query }: ErpSnapshot): Promise<Catalogue> {
  const { catalogue } = dialect;
  const read = async (statement: Sql, what: string) =>
    (await query(statement, `read the ${what} of the database`)).rows;
  return assembleCatalogue({
    tables: await read(catalogue.tables, 'tables'),
    columns: await read(catalogue.columns, 'columns'),
    indexes: await read(catalogue.indexes, 'indexes'),
    foreignKeys: await read(catalogue.foreignKeys, 'foreign keys'),
  });
}

function assembleCatalogue(read: { [Name in keyof CatalogueStatements]: readonly ErpRow[] }): Catalogue {
  const tables = new Map<string, CatalogueTable>();
  const at = (schema: string | null | undefined, name: string | null | undefined) =>
    JSON.stringify([schema ?? null, name]);
  for (const row of read.tables)
    tables.set(at(row.schema_name, row.table_name), {
      schema: row.schema_name ?? null,
      name: row.table_name ?? '',
      isInPath: row.is_in_path !== '0',
      isView: row.is_view === '1',
      approximateRows: row.approximate_rows == null ? null : Number(row.approximate_rows),
      columns: [],
      primaryKey: [],
      indexes: [],
      foreignKeys: [],
    });
  const tableOf = (row: ErpRow) => tables.get(at(row.schema_name, row.table_name));
  for (const row of read.columns)
    tableOf(row)?.columns.push(columnOf(row.column_name ?? '', row.type_name ?? '', row.nullable === '1'));
  for (const rows of grouped(read.indexes, 'index_name')) {
    const [first = {}] = rows;
    // An expression or the beginning of a text has no column of its own.
    if (rows.some(({ column_name }) => column_name == null)) continue;
    const columns = rows.map(({ column_name }) => column_name ?? '');
    tableOf(first)?.indexes.push({ columns, isUnique: first.is_unique === '1' });
    if (first.is_primary === '1') Object.assign(tableOf(first) ?? {}, { primaryKey: columns });
  }
  for (const rows of grouped(read.foreignKeys, 'key_name')) {
    const [first = {}] = rows;
    const target = tables.get(at(first.referenced_schema, first.referenced_table));
    if (target === undefined) continue;
    const named = rows.flatMap(({ referenced_column }) => referenced_column ?? []);
    tableOf(first)?.foreignKeys.push({
      columns: rows.map(({ column_name }) => column_name ?? ''),
      table: nameOf(target),
      referenced: named.length === rows.length ? named : target.primaryKey,
    });
  }
  return { tables: [...tables.values()] };
}

/** Rows of one table and one name, in their order. */
function grouped(rows: readonly ErpRow[], name: string): ErpRow[][] {
  const groups = new Map<string, ErpRow[]>();
  for (const row of rows) {
    const group = JSON.stringify([row.schema_name, row.table_name, row[name]]);
    groups.set(group, [...(groups.get(group) ?? []), row]);
  }
  return [...groups.values()];
}

function columnOf(name: string, type: string, nullable: boolean): CatalogueColumn {
  // Text in brackets, such as the words of an ENUM, says nothing of the kind.
  const word = type.replace(/\(.*\)/s, '');
  const isInteger = INTEGER.test(word) && kindOf(word) === 'number';
  return { name, type, kind: kindOf(word), isInteger, isFloat: /^(float|double|real)/i.test(word), nullable };
}

const INTEGER = /^(unsigned +)?((tiny|small|medium|big|long) ?)?(int|serial)|^year/i;
const NUMBER = /^(dec|num|fixed|float|double|real|money|bit|oid)/i;

/** The types of all dialects by their names. SQLite takes any word for a type. */
function kindOf(word: string): CatalogueKind {
  if (/^(enum|set)\b/i.test(word)) return 'text';
  if (/\[\]$|json|xml|blob|binary|bytea|geom|point|polygon|linestring|range|tsvector|interval|hstore/i.test(word))
    return 'other';
  if (/^bool/i.test(word)) return 'boolean';
  if (INTEGER.test(word) || NUMBER.test(word)) return 'number';
  if (/^(datetime|timestamp)/i.test(word)) return 'time';
  if (/^date$/i.test(word)) return 'date';
  return 'text';
}

/** The number of rows to look at if a question needs no more than an impression. */
export const ROWS_LOOKED_AT = 2_000_000;
const LONGEST_SAMPLE = 200;

/** The number of rows of a table, counted up to a limit. */
export async function countRows(snapshot: ErpSnapshot, table: CatalogueTable, limit = ROWS_LOOKED_AT): Promise<number> {
  const some = sql`SELECT 1 AS one FROM ${rawSql(tableSql(snapshot.dialect, table))} LIMIT ${number(limit)}`;
  const { rows } = await snapshot.query(
    sql`SELECT COUNT(*) AS n FROM (${some}) q`,
    `count the rows of ${nameOf(table)}`,
  );
  return Number(rows[0]?.n ?? 0);
}

export interface ValueCount {
  /** As the database writes it; null for NULL. */
  value: string | null;
  count: number;
}

/**
 * The most frequent values of an expression, each with how often it is there among the rows looked at.
 * @param from a table, or a query in brackets with a name
 */
export async function countValues(
  snapshot: ErpSnapshot,
  from: Sql,
  expression: Sql,
  { limit = 30 }: { limit?: number } = {},
): Promise<ValueCount[]> {
  const some = sql`SELECT ${expression} AS v FROM ${from} LIMIT ${number(ROWS_LOOKED_AT)}`;
  const statement = sql`SELECT v, COUNT(*) AS n FROM (${some}) s GROUP BY v ORDER BY COUNT(*) DESC, v LIMIT ${number(limit)}`;
  const { rows } = await snapshot.query(statement, 'count values');
  return rows.map(({ v, n }) => ({ value: v?.slice(0, LONGEST_SAMPLE) ?? null, count: Number(n) }));
}

const number = (value: number) => ({ text: `${value}`, kind: 'number' }) as const;
