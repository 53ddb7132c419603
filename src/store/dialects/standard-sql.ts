import type { StoreDialect } from './dialect.js';

/** What SQLite and PostgreSQL say alike. */
export const standardSql = {
  insertNew: (insert) => `${insert} ON CONFLICT DO NOTHING`,
  onTaken: (keys) => `ON CONFLICT (${keys.join(',')}) DO UPDATE SET`,
  inserted: (column) => `excluded.${column}`,
  updateFrom(table, { set, source, on, where }) {
    const assignments = Object.entries(set).map(([column, value]) => `${column}=${value}`);
    return `UPDATE ${table} AS t SET ${assignments.join(',')} FROM (${source}) AS v WHERE ${on} AND ${where}`;
  },
  asText: (expression) => `CAST(${expression} AS TEXT)`,
} satisfies Partial<StoreDialect>;

/** One SELECT a row; for SQLite and MySQL. */
export function unionOfParameters(columns: readonly string[], count: number): string {
  const first = `SELECT ${columns.map((column) => `? AS ${column}`).join(',')}`;
  const other = `UNION ALL SELECT ${columns.map(() => '?').join(',')}`;
  return [first, ...Array.from({ length: count - 1 }, () => other)].join(' ');
}
