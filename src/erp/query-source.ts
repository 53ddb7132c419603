import type { ErpColumn, ErpRow, ErpSnapshot } from './erp-database.js';
import { ErpError } from './erp-reader.js';
import { allEqual, allOf, isNumberText, joinSql, rawSql, type Sql, type SqlValue, sql } from './sql.js';

/** A configured query and the columns that it yields. `path` is its setting, for messages. */
export interface QuerySource {
  path: string;
  query: string;
  columns: ErpColumn[];
}

/** Columns of a query that hold a key. */
export interface KeyColumns {
  source: QuerySource;
  columns: ErpColumn[];
}

const PROBES_PER_STATEMENT = 50;
/** MariaDB rewrites longer lists into a join of its own, which can be slower than the list. */
const KEYS_PER_STATEMENT = 900;

/** `FROM (query) q`. The line break ends a comment at the end of the query. */
export function fromQuery(source: Pick<QuerySource, 'query'>): Sql {
  return rawSql(`FROM (\n${source.query}\n) q`);
}

/** A configured condition, closed off from what stands beside it. A semicolon at its end can't stand in brackets. */
export function conditionIn(condition: string): Sql {
  return rawSql(`(\n${condition.replace(/[;\s]+$/, '')}\n)`);
}

/** The column as a statement names it. */
export function columnSql({ dialect }: ErpSnapshot, { name }: ErpColumn): Sql {
  return rawSql(`q.${dialect.quoteIdentifier(name)}`);
}

/** The values of the key columns, or null when one of them is NULL. */
export function keyOf(row: ErpRow, columns: readonly ErpColumn[]): string[] | null {
  const parts = columns.map((column) => row[column.name] ?? null);
  return parts.every((part) => part !== null) ? parts : null;
}

/** Values for the columns, or null when a number column can't hold one: MySQL would take the text 'abc' for 0. */
export function keyValues(columns: readonly ErpColumn[], parts: readonly string[]): SqlValue[] | null {
  const values = columns.map(({ kind }, index) => ({ text: parts[index] ?? '', kind }));
  return values.every(({ kind, text }) => kind !== 'number' || isNumberText(text)) ? values : null;
}

/** Runs a query of a source, and makes sure that it still yields the columns that the mapping was planned with. */
export async function readRows(
  snapshot: ErpSnapshot,
  source: QuerySource,
  statement: Sql,
  doing: string,
): Promise<ErpRow[]> {
  const { columns, rows } = await snapshot.query(statement, doing);
  const missing = source.columns.find(({ name }) => !columns.some((found) => found.name === name));
  if (missing === undefined) return rows;
  throw new ErpError(
    'mapping',
    `Could not ${doing}: ${source.path} no longer yields the column "${missing.name}". The next read checks it again.`,
  );
}

/** The highest value of a column in the database's own order; null when there is none. */
export async function highestValue(
  snapshot: ErpSnapshot,
  source: QuerySource,
  column: ErpColumn,
): Promise<string | null> {
  const name = columnSql(snapshot, column);
  const { rows } = await snapshot.query(
    sql`SELECT ${name} AS highest ${fromQuery(source)} WHERE ${name} IS NOT NULL ORDER BY ${name} DESC LIMIT 1`,
    `look for the highest ${column.name} (${source.path})`,
  );
  return rows[0]?.highest ?? null;
}

/** Rows whose key is one of those given: one statement for a page, unless it has very many. */
export async function readRowsByKey(
  snapshot: ErpSnapshot,
  { source, columns }: KeyColumns,
  keys: readonly (readonly string[])[],
  { conditions = [], sortBy = [], doing }: { conditions?: Sql[]; sortBy?: ErpColumn[]; doing: string },
): Promise<ErpRow[]> {
  const names = columns.map((column) => columnSql(snapshot, column));
  const order = joinSql([...names, ...sortBy.map((column) => columnSql(snapshot, column))]);
  const tuples = keys.map((parts) => keyValues(columns, parts)).filter((values) => values !== null);
  const rows: ErpRow[] = [];
  for (let start = 0; start < tuples.length; start += KEYS_PER_STATEMENT) {
    const listed = snapshot.dialect.tupleIn(names, tuples.slice(start, start + KEYS_PER_STATEMENT));
    const statement = sql`SELECT q.* ${fromQuery(source)} WHERE ${allOf([...conditions, listed])} ORDER BY ${order}`;
    rows.push(...(await readRows(snapshot, source, statement, doing)));
  }
  return rows;
}

/**
 * Which keys of `target` the database holds equal to each of the given ones; keys go in and out as JSON. Under a
 * collation 'angry ' and 'ANGRY' are one key, and JavaScript can't know: ask this for the few keys whose texts differ.
 */
export async function findEqualKeys(
  snapshot: ErpSnapshot,
  { source, columns }: KeyColumns,
  keys: readonly string[],
  doing: string,
): Promise<Map<string, string[]>> {
  const names = columns.map((column) => columnSql(snapshot, column));
  const selected = joinSql(names.map((name, at) => sql`${name} AS ${rawSql(`k${at}`)}`));
  const probes = keys.flatMap((key, index) => {
    const values = keyValues(columns, JSON.parse(key));
    if (values === null) return [];
    return [sql`SELECT ${rawSql(`${index}`)} AS n, ${selected} ${fromQuery(source)} WHERE ${allEqual(names, values)}`];
  });
  const equal = new Map<string, string[]>(keys.map((key) => [key, []]));
  for (let start = 0; start < probes.length; start += PROBES_PER_STATEMENT) {
    const statement = joinSql(probes.slice(start, start + PROBES_PER_STATEMENT), '\nUNION ALL\n');
    for (const row of (await snapshot.query(statement, doing)).rows) {
      equal.get(keys[Number(row.n)] ?? '')?.push(JSON.stringify(columns.map((_, at) => row[`k${at}`] ?? '')));
    }
  }
  return equal;
}
