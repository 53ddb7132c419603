import type { HistoryStore } from './history-store.js';

/** No clock of a history shows another time, and nothing is scheduled further ahead than a machine's clock may be wrong. */
const earliestMs = Date.UTC(2000, 0, 1);
const longestAheadMs = 366 * 86_400_000;

/**
 * The default source has no name (`defaultSource`), and a removal is sent without a body. A key has no NULL, so that parts of the key
 * of a list are empty where `list_kind` says that the list has none.
 */
const emptyIsAValue = /^(outbox_message\.source|message_body\.body|invoice_\w+\.list_(customer|state))$/;
/** Amounts may be negative. */
const mayBeNegative = /amount$|total$/;

const queries = new WeakMap<HistoryStore, string>();

/**
 * Values that stand for "none", "unknown" or "not yet" where NULL or another column should: each time is plausible or NULL, each hash
 * has 64 hex digits or is NULL, no text is empty, no number negative, and no revision 0. Asks for every such column that the schema has.
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
    if (name === 'revision') return `${select} ${name}<=0`;
    if (type === 'CHAR(64)') return `${select} length(${name})<>64 OR ${name} GLOB '*[^0-9a-f]*'`;
    if (/INT$/.test(type) && !mayBeNegative.test(name)) return `${select} ${name}<0`;
    if (/^(VARCHAR|CHAR|TEXT|MEDIUMTEXT)/.test(type) && !emptyIsAValue.test(place)) return `${select} ${name}=''`;
    return [];
  });
  return `WITH plausible AS (SELECT ? AS earliest, ? AS latest) ${each.join(' UNION ALL ')}`;
}
