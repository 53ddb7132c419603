import type { ErpColumn, ErpRow, ErpSnapshot } from './erp-database.js';
import { ErpError } from './erp-reader.js';
import { columnSql, fromQuery, type QuerySource, readRows } from './query-source.js';
import { allEqual, allOf, joinSql, rawSql, type Sql, type SqlValue, sql } from './sql.js';

interface PageRequest {
  source: QuerySource;
  conditions: Sql[];
  /** The columns that the page is ordered by; together they should name one row. */
  order: ErpColumn[];
  /** Values of `order` that the last page ended with. */
  after: string[] | null;
  limit: number;
  doing: string;
}

/**
 * One page in the database's own order. Where several rows share the last position (texts that are equal under the
 * collation, a key that isn't one) all of them come on this page, so that the next one can start strictly after it.
 * @returns with the rows the values of `order` in the last one, null when there is none
 * @throws ErpError when the page ends where it began, because such a source would be read for ever
 */
export async function readKeysetPage(
  snapshot: ErpSnapshot,
  request: PageRequest,
): Promise<{ rows: ErpRow[]; last: string[] | null; more: boolean }> {
  const { source, conditions, order, after, limit, doing } = request;
  const columns = order.map((column) => columnSql(snapshot, column));
  const valuesAt = (position: readonly string[]): SqlValue[] =>
    order.map(({ kind }, index) => ({ text: position[index] ?? '', kind }));
  const positionOf = (row: ErpRow): string[] => order.map(({ name }) => row[name] ?? '');
  const select = (condition: Sql, tail: Sql): Promise<ErpRow[]> => {
    const where = allOf([...conditions, condition]);
    const statement = sql`SELECT q.* ${fromQuery(source)} WHERE ${where} ORDER BY ${joinSql(columns)}${tail}`;
    return readRows(snapshot, source, statement, doing);
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
  if (last !== null && JSON.stringify(last) === JSON.stringify(after)) {
    const names = order.map(({ name }) => name).join(', ');
    throw new ErpError(
      'query',
      `Reading ${source.path} in the order of ${names} makes no progress after ${last.join(', ')}: ` +
        'the database finds the same row after itself. Write the key columns as plain numbers or texts in the query.',
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
