import type { HistoryStore } from './history-store.js';

/** No clock of a history shows another time, and nothing is scheduled further ahead than a machine's clock may be wrong. */
const earliestMs = Date.UTC(2000, 0, 1);
const longestAheadMs = 366 * 86_400_000;

const queries = new WeakMap<HistoryStore, string>();

/**
 * Values that stand for "none", "unknown" or "not yet" where NULL or another column should: each time is plausible or NULL, and each
 * hash has 64 hex digits or is NULL. Asks for every such column that the schema has.
 */
export function sentinelsIn(kept: HistoryStore, nowMs: number): string[] {
  const query = queries.get(kept) ?? queryOf(kept);
  queries.set(kept, query);
  return kept
    .rows<{ column: string; value: unknown }>(query, earliestMs, nowMs + longestAheadMs)
    .map(({ column, value }) => {
      return `${column} is ${value}, which is neither NULL nor a value of its kind`;
    });
}

function queryOf(kept: HistoryStore): string {
  const columns = kept.rows<{ place: string; table: string; name: string; type: string }>(
    `SELECT m.name || '.' || c.name AS place, m.name AS "table", c.name, c.type
       FROM sqlite_master m JOIN pragma_table_info(m.name) c WHERE m.type='table' AND m.name<>'torture_witness'`,
  );
  const each = columns.flatMap(({ place, table, name, type }) => {
    const select = `SELECT '${place}' AS "column", ${name} AS value FROM ${table} WHERE`;
    if (/_at$|^at$/.test(name) && type === 'BIGINT')
      return `${select} ${name} NOT BETWEEN (SELECT earliest FROM plausible) AND (SELECT latest FROM plausible)`;
    if (type === 'CHAR(64)') return `${select} length(${name})<>64 OR ${name} GLOB '*[^0-9a-f]*'`;
    return [];
  });
  return `WITH plausible AS (SELECT ? AS earliest, ? AS latest) ${each.join(' UNION ALL ')}`;
}
