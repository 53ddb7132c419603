import type { ErpColumn, ErpDatabase, ErpRow, ErpSnapshot } from './erp-database.js';
import { query } from './page-query.js';
import { fromQuery, type QuerySource } from './query-source.js';
import { allOf, joinSql, rawSql, type Sql, type SqlValue, sql } from './sql.js';

/** MariaDB rewrites longer lists into a join of its own, which can be slower than the list. */
const LIST_LENGTH = 900;
const PROBES_PER_STATEMENT = 50;
const INTEGER_OR_DECIMAL = /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/;

/** Columns of a query that hold a key. */
export interface KeyColumns {
  source: QuerySource;
  columns: ErpColumn[];
}

export function columnSql(database: ErpDatabase, columns: readonly ErpColumn[]): Sql[] {
  return columns.map((column) => rawSql(`q.${database.quoteIdentifier(column.name)}`));
}

/** The values of the key columns, or null when one of them is NULL. */
export function keyOf(row: ErpRow, columns: readonly ErpColumn[]): string[] | null {
  const parts = columns.map((column) => row[column.name] ?? null);
  return parts.every((part) => part !== null) ? parts : null;
}

/** Values for the columns, or null when a number column can't hold one: MySQL would take the text 'abc' for 0. */
export function keyValues(columns: readonly ErpColumn[], parts: readonly string[]): SqlValue[] | null {
  const values = columns.map((column, index) => ({ text: parts[index] ?? '', kind: column.kind }));
  return values.every(({ kind, text }) => kind !== 'number' || INTEGER_OR_DECIMAL.test(text)) ? values : null;
}

/** Rows whose key is one of those given: one statement for a page, however many keys it has (up to 900). */
export async function readRowsByKey(
  database: ErpDatabase,
  snapshot: ErpSnapshot,
  target: KeyColumns,
  keys: readonly (readonly string[])[],
  options: { conditions?: Sql[]; sortBy?: ErpColumn[]; doing: string },
): Promise<ErpRow[]> {
  const columns = columnSql(database, target.columns);
  const tuples = keys.map((parts) => keyValues(target.columns, parts)).filter((values) => values !== null);
  const sortBy = columnSql(database, [...target.columns, ...(options.sortBy ?? [])]);
  const rows: ErpRow[] = [];
  for (let start = 0; start < tuples.length; start += LIST_LENGTH) {
    const listed = database.tupleIn(columns, tuples.slice(start, start + LIST_LENGTH));
    const condition = allOf([...(options.conditions ?? []), listed]);
    const statement = sql`SELECT q.* ${fromQuery(target.source)} WHERE ${condition} ORDER BY ${joinSql(sortBy, ', ')}`;
    rows.push(...(await query(snapshot, target.source, statement, options.doing)).rows);
  }
  return rows;
}

/**
 * Which keys of `target` the database holds equal to each of the given ones. Under a collation 'angry ' and 'ANGRY' are
 * one key, and JavaScript can't know; so the few keys whose texts differ are put to the database.
 */
export async function findEqualKeys(
  database: ErpDatabase,
  snapshot: ErpSnapshot,
  target: KeyColumns,
  keys: readonly (readonly string[])[],
  doing: string,
): Promise<string[][][]> {
  const columns = columnSql(database, target.columns);
  const equal: string[][][] = keys.map(() => []);
  const probes = keys.flatMap((parts, index) => {
    const values = keyValues(target.columns, parts);
    if (values === null) return [];
    const same = joinSql(
      columns.map((column, at) => sql`${column} = ${values[at] ?? { text: '', kind: 'text' }}`),
      ' AND ',
    );
    const names = columns.map((column, at) => sql`${column} AS ${rawSql(`k${at}`)}`);
    const number = rawSql(`${index}`);
    return [sql`SELECT ${number} AS n, ${joinSql(names, ', ')} ${fromQuery(target.source)} WHERE ${same}`];
  });
  for (let start = 0; start < probes.length; start += PROBES_PER_STATEMENT) {
    const statement = joinSql(probes.slice(start, start + PROBES_PER_STATEMENT), '\nUNION ALL\n');
    const { rows } = await snapshot.query(statement, doing);
    for (const row of rows) {
      equal[Number(row.n)]?.push(target.columns.map((_, at) => row[`k${at}`] ?? ''));
    }
  }
  return equal;
}
