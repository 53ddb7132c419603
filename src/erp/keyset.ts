import { allOf, joinSql, type Sql, type SqlValue, sql } from './sql.js';

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
