import type { ErpColumn } from './erp-database.js';
import { rawSql, type Sql } from './sql.js';

/** A configured query and the columns that it yields. `path` is its setting, for messages. */
export interface QuerySource {
  path: string;
  query: string;
  columns: ErpColumn[];
}

/** People paste queries with a semicolon at the end, which can't stand inside brackets. */
export function stripQuery(query: string): string {
  return query.replace(/[;\s]+$/, '').trim();
}

/** `FROM (query) q`. The line break ends a comment at the end of the query. */
export function fromQuery(source: Pick<QuerySource, 'query'>): Sql {
  return rawSql(`FROM (\n${source.query}\n) q`);
}

/** A configured condition, closed off from what stands beside it. */
export function conditionIn(condition: string): Sql {
  return rawSql(`(\n${stripQuery(condition)}\n)`);
}
