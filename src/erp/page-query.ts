import type { ErpColumn, ErpDatabase, ErpRow, ErpSnapshot } from './erp-database.js';
import { ErpError } from './erp-error.js';
import { fromQuery, type QuerySource } from './query-source.js';
import { allOf, joinSql, rawSql, type Sql, type SqlValue, sql } from './sql.js';

/** A column to page by, and the value that the last page ended with. */
export interface KeysetPart {
  column: Sql;
  value: SqlValue;
}

/**
 * Rows strictly after a position, in the database's own ordering. The leading `>=` says nothing new; it is what lets
 * an index on the first column serve, where the expanded OR alone would read the table.
 */
export function afterPosition(parts: readonly KeysetPart[]): Sql {
  const [first, ...rest] = parts;
  if (first === undefined) return allOf([]);
  if (rest.length === 0) return sql`${first.column} > ${first.value}`;
  return sql`${first.column} >= ${first.value} AND (${strictlyAfter(parts)})`;
}

function strictlyAfter([first, ...rest]: readonly KeysetPart[]): Sql {
  if (first === undefined) return allOf([]);
  const greater = sql`${first.column} > ${first.value}`;
  if (rest.length === 0) return greater;
  return sql`${greater} OR (${first.column} = ${first.value} AND (${strictlyAfter(rest)}))`;
}

/** Rows that the database holds equal to a position: under a collation that may be more than one text. */
export function atPosition(parts: readonly KeysetPart[]): Sql {
  return joinSql(
    parts.map(({ column, value }) => sql`${column} = ${value}`),
    ' AND ',
  );
}

export interface PageRequest {
  source: QuerySource;
  conditions: Sql[];
  /** The columns that the page is ordered by; together they are to name one row. */
  order: ErpColumn[];
  /** Values of `order` that the last page ended with. */
  after: string[] | null;
  limit: number;
  doing: string;
}

export interface PageRows {
  rows: ErpRow[];
  more: boolean;
}

/**
 * One page in the database's own order. Where several rows share the last position (texts that are equal under the
 * collation, a key that isn't one) all of them come on this page, so that the next one can start strictly after it.
 */
export async function readPageRows(
  database: ErpDatabase,
  snapshot: ErpSnapshot,
  request: PageRequest,
): Promise<PageRows> {
  const { source, order, after, limit, doing } = request;
  const columns = order.map((column) => rawSql(`q.${database.quoteIdentifier(column.name)}`));
  const partsAt = (position: readonly string[]) =>
    order.map((column, index) => ({
      column: columns[index] ?? rawSql('NULL'),
      value: { text: position[index] ?? '', kind: column.kind },
    }));
  const select = (condition: Sql, tail: Sql) =>
    sql`SELECT q.* ${fromQuery(source)} WHERE ${condition} ORDER BY ${joinSql(columns, ', ')}${tail}`;

  const from = after === null ? [] : [afterPosition(partsAt(after))];
  const oneMore = sql` LIMIT ${{ text: `${limit + 1}`, kind: 'number' }}`;
  const found = (await query(snapshot, source, select(allOf([...request.conditions, ...from]), oneMore), doing)).rows;
  const more = found.length > limit;
  const rows = found.slice(0, limit);
  const last = rows.at(-1);
  if (last === undefined) return { rows, more: false };

  const lastPosition = positionOf(last, order);
  const tied = more && mayBeTied(order, lastPosition, found[limit]);
  if (tied) {
    const same = allOf([...request.conditions, atPosition(partsAt(lastPosition))]);
    const ties = (await query(snapshot, source, select(same, rawSql('')), doing)).rows;
    const tiedPositions = new Set(ties.map((row) => JSON.stringify(positionOf(row, order))));
    const before = rows.filter((row) => !tiedPositions.has(JSON.stringify(positionOf(row, order))));
    return progressing([...before, ...ties], request, more);
  }
  return progressing(rows, request, more);
}

/** Numbers are tied when they are the same text; what other texts are equal only the database can tell. */
function mayBeTied(order: readonly ErpColumn[], position: readonly string[], next: ErpRow | undefined): boolean {
  return order.every((column, index) => {
    const follows = next?.[column.name] ?? '';
    return column.kind === 'text' || column.kind === 'unknown' || follows === position[index];
  });
}

/** A page that ends where it began would be read for ever. */
function progressing(rows: ErpRow[], { source, order, after }: PageRequest, more: boolean): PageRows {
  const last = rows.at(-1);
  if (last !== undefined && after !== null && JSON.stringify(positionOf(last, order)) === JSON.stringify(after)) {
    const names = order.map((column) => column.name).join(', ');
    throw new ErpError(
      'query',
      `Reading ${source.path} in the order of ${names} makes no progress after ${after.join(', ')}: ` +
        'the database finds the same row after itself. Write the key columns as plain numbers or texts in the query.',
    );
  }
  return { rows, more };
}

function positionOf(row: ErpRow, order: readonly ErpColumn[]): string[] {
  return order.map((column) => row[column.name] ?? '');
}

/** Runs a query of a source, and makes sure that it still yields the columns that the mapping was planned with. */
export async function query(
  snapshot: ErpSnapshot,
  source: QuerySource,
  statement: Sql,
  doing: string,
): Promise<{ rows: ErpRow[] }> {
  const result = await snapshot.query(statement, doing);
  const missing = source.columns.find((column) => !result.columns.some((found) => found.name === column.name));
  if (missing !== undefined) {
    throw new ErpError(
      'mapping',
      `Could not ${doing}: ${source.path} no longer yields the column "${missing.name}". It is checked anew on the next pass.`,
    );
  }
  return result;
}
