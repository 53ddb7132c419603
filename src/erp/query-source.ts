import type { ErpColumn, ErpRow, ErpSnapshot, ScanRead } from '../db/erp-database.js';
import { allEqual, allOf, isNumberText, joinSql, rawSql, type Sql, type SqlValue, sql } from '../db/sql.js';
import { ErpError } from './erp-reader.js';

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

/** Values for the columns, or null when one of them can't hold its own: MySQL would take the text 'abc' for 0. */
export function keyValues(columns: readonly ErpColumn[], parts: readonly string[]): SqlValue[] | null {
  const values = columns.map(({ kind }, index) => ({ text: parts[index] ?? '', kind }));
  const fits = ({ kind, text }: SqlValue, index: number) =>
    (kind !== 'number' || isNumberText(text)) && (columns[index]?.accepts?.(text) ?? true);
  return values.every(fits) ? values : null;
}

/** Runs a query of a source, and makes sure that it still yields the columns that the mapping was planned with. */
async function readRows(
  snapshot: ErpSnapshot,
  source: QuerySource,
  statement: Sql,
  { keys, doing, of }: { keys: readonly ErpColumn[]; doing: string; of?: ScanRead | undefined },
): Promise<ErpRow[]> {
  const { columns, rows } = await snapshot.query(statement, doing, of && { of, setting: source.path });
  const found = new Map(columns.map((column) => [column.name, column]));
  for (const planned of source.columns) requireAsPlanned(source, planned, found.get(planned.name), doing);
  // 1 would be 1.00 now, and so another key in the middle of a read.
  for (const key of keys)
    if ((found.get(key.name)?.scale ?? null) !== (key.scale ?? null))
      throw changed(source, key, ' as it was: its numbers have other decimal places now', doing);
  // A row has one value for each name: of two columns it would be that of the last.
  if (found.size < columns.length) {
    const twice = source.columns.find(({ name }) => countOf(columns, name) > countOf(source.columns, name));
    if (twice) throw changed(source, twice, ' as it was: it comes twice now', doing);
  }
  return rows;
}

function countOf(columns: readonly ErpColumn[], name: string): number {
  return columns.filter((column) => column.name === name).length;
}

/** A table or a view may change while Waybill runs; a plan that was made for exact amounts would go on with inexact ones. */
function requireAsPlanned(source: QuerySource, planned: ErpColumn, found: ErpColumn | undefined, doing: string): void {
  const change = found === undefined ? '' : changeBetween(planned, found);
  if (change !== null) throw changed(source, planned, change, doing);
}

function changed(source: QuerySource, { name }: ErpColumn, change: string, doing: string): ErpError {
  const what = `${source.path} no longer yields the column "${name}"${change}`;
  return new ErpError('mapping', `Could not ${doing}: ${what}. The next read checks it again.`);
}

/**
 * The fact about a column that the plan of a mapping was told and that is not true any more, in words; null: there is
 * none. Pure.
 */
function changeBetween(planned: ErpColumn, found: ErpColumn): string | null {
  const isAsItWas = found.kind === planned.kind && found.fractionDigits === planned.fractionDigits;
  if (isAsItWas && found.float !== planned.float)
    return ` as it was: it is ${found.float === null ? 'no longer in floating point' : `a ${found.float} now`}`;
  const hasNewProblem = (name: 'keyProblem' | 'valueProblem') => Boolean(found[name]) && !planned[name];
  return isAsItWas && !hasNewProblem('keyProblem') && !hasNewProblem('valueProblem') ? null : ' as it was';
}

/** The highest value of a column in the database's own order; null when there is none. */
export async function highestValue(
  snapshot: ErpSnapshot,
  source: QuerySource,
  column: ErpColumn,
): Promise<string | null> {
  const name = columnSql(snapshot, column);
  const doing = `look for the highest ${column.name} (${source.path})`;
  const { columns, rows } = await snapshot.query(
    sql`SELECT ${name} AS highest ${fromQuery(source)} WHERE ${name} IS NOT NULL ORDER BY ${name} DESC LIMIT 1`,
    doing,
  );
  const planned = source.columns.find((one) => one.name === column.name);
  if (planned) requireAsPlanned(source, planned, columns[0], doing);
  return rows[0]?.highest ?? null;
}

/** Rows whose key is one of those given: one statement for a page, unless it has very many. */
export async function readRowsByKey(
  snapshot: ErpSnapshot,
  { source, columns }: KeyColumns,
  keys: readonly (readonly string[])[],
  {
    conditions = [],
    sortBy = [],
    ...asked
  }: { conditions?: Sql[]; sortBy?: ErpColumn[]; doing: string; of?: ScanRead },
): Promise<ErpRow[]> {
  const names = columns.map((column) => columnSql(snapshot, column));
  const order = joinSql([...names, ...sortBy.map((column) => columnSql(snapshot, column))]);
  const tuples = keys.map((parts) => keyValues(columns, parts)).filter((values) => values !== null);
  const read: ErpRow[][] = [];
  for (let start = 0; start < tuples.length; start += KEYS_PER_STATEMENT) {
    const listed = snapshot.dialect.tupleIn(names, tuples.slice(start, start + KEYS_PER_STATEMENT));
    const statement = sql`SELECT q.* ${fromQuery(source)} WHERE ${allOf([...conditions, listed])} ORDER BY ${order}`;
    read.push(await readRows(snapshot, source, statement, { keys: columns, ...asked }));
  }
  // Not pushed one and all: a page of orders has more lines than a call may have arguments.
  return read.flat();
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

interface PageRequest {
  source: QuerySource;
  conditions: Sql[];
  /** The columns that the page is ordered by; together they should name one row. */
  order: ErpColumn[];
  /** Values of `order` that the last page ended with. */
  after: string[] | null;
  limit: number;
  doing: string;
  /** Which read of a scan it is; absent: none that is repeated. */
  of?: ScanRead | undefined;
}

/**
 * One page in the database's own order. If several rows share the last position (texts that are equal under the
 * collation, a key that isn't one) all of them come on this page, so that the next one can start strictly after it.
 * @returns with the rows the values of `order` in the last one, null when there is none
 * @throws ErpError when the page ends where it began, because such a source would be read for ever
 */
export async function readKeysetPage(
  snapshot: ErpSnapshot,
  request: PageRequest,
): Promise<{ rows: ErpRow[]; last: string[] | null; more: boolean }> {
  const { source, conditions, order, after, limit } = request;
  const columns = order.map((column) => columnSql(snapshot, column));
  const valuesAt = (position: readonly string[]): SqlValue[] =>
    order.map(({ kind }, index) => ({ text: position[index] ?? '', kind }));
  const positionOf = (row: ErpRow): string[] => order.map(({ name }) => row[name] ?? '');
  const select = (condition: Sql, tail: Sql): Promise<ErpRow[]> => {
    const where = allOf([...conditions, condition]);
    const statement = sql`SELECT q.* ${fromQuery(source)} WHERE ${where} ORDER BY ${joinSql(columns)}${tail}`;
    return readRows(snapshot, source, statement, { keys: order, ...request });
  };

  const from = after === null ? allOf([]) : afterPosition(columns, valuesAt(after));
  const found = await select(from, sql` LIMIT ${{ text: `${limit + 1}`, kind: 'number' }}`);
  let rows = found.slice(0, limit);
  const next = found[limit];
  if (next !== undefined && mayBeTied(order, positionOf(rows.at(-1) ?? {}), positionOf(next))) {
    const ties = await select(allEqual(columns, valuesAt(positionOf(rows.at(-1) ?? {}))), rawSql(''));
    const tied = new Set(ties.map((row) => JSON.stringify(positionOf(row))));
    rows = [...rows.filter((row) => !tied.has(JSON.stringify(positionOf(row)))), ...ties];
  }

  const end = rows.at(-1);
  const last = end === undefined ? null : positionOf(end);
  // Bytes that are no text: as the text that stands for them they would come before all others.
  const isNoText = next !== undefined && last?.some((part) => part.startsWith('\0'));
  if (last !== null && (isNoText || JSON.stringify(last) === JSON.stringify(after))) {
    const names = order.map(({ name }) => name).join(', ');
    const why = isNoText ? 'it holds bytes that are no text' : 'the database finds the same row after itself';
    throw new ErpError(
      'query',
      `Reading ${source.path} in the order of ${names} makes no progress after ${last.join(', ').replaceAll('\0', '')}: ` +
        `${why}. Write the key columns as plain numbers or texts in the query.`,
    );
  }
  return { rows, last, more: next !== undefined };
}

/**
 * Rows strictly after a position, in the database's own ordering. The leading `>=` adds no condition; it lets an
 * index on the first column serve, where the expanded OR alone would read the table.
 */
function afterPosition(columns: readonly Sql[], values: readonly SqlValue[]): Sql {
  const after = strictlyAfter(columns, values);
  const [column, second] = columns;
  const [value] = values;
  return column && value && second ? sql`${column} >= ${value} AND (${after})` : after;
}

function strictlyAfter([column, ...columns]: readonly Sql[], [value, ...values]: readonly SqlValue[]): Sql {
  if (column === undefined || value === undefined) return allOf([]);
  const greater = sql`${column} > ${value}`;
  if (columns.length === 0) return greater;
  return sql`${greater} OR (${column} = ${value} AND (${strictlyAfter(columns, values)}))`;
}

/** Numbers are tied when they are the same text; only the database knows which other texts are equal. */
function mayBeTied(order: readonly ErpColumn[], last: readonly string[], next: readonly string[]): boolean {
  return order.every(({ kind }, index) => kind === 'text' || kind === 'unknown' || next[index] === last[index]);
}
