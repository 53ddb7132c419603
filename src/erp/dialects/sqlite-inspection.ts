import type { InspectionStatements } from '../erp-database.js';
import { rawSql, sql } from '../sql.js';

export const sqliteInspection: InspectionStatements = {
  server: rawSql(`SELECT 'SQLite ' || sqlite_version() AS version,
      (SELECT encoding FROM pragma_encoding) AS charset, 'none' AS zone`),
  rights: null,
  writeRights: () => [],
  hiddenTables: null,
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
