import type { InspectionStatements } from '../erp-database.js';
import { rawSql, sql } from '../sql.js';

export const sqliteInspection: InspectionStatements = {
  server: rawSql(`SELECT 'SQLite ' || sqlite_version() AS version,
      (SELECT encoding FROM pragma_encoding) AS charset, 'none' AS zone`),
  rights: null,
  writeRights: () => [],
  hiddenTables: null,
  // 0.1 + 0.2 is 0.30000000000000004; 19.99 is read as it was written.
  inexact: (column) => sql`typeof(${column}) = 'real' AND ${column} <> ROUND(${column}, 6)`,
  explain: {
    of: (statement) => sql`EXPLAIN QUERY PLAN ${statement}`,
    // `SCAN o USING INDEX …` follows the index in its order; a name in brackets is a step of the query.
    scans: (plan) =>
      plan.flatMap(({ detail }) => {
        const [, table] = /^SCAN (?:TABLE )?(\w+)(?: AS \w+)?$/.exec(detail ?? '') ?? [];
        return table === undefined ? [] : [table];
      }),
  },
};
