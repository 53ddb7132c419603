import type { CatalogueStatements } from '../catalogue.js';
import type { InspectionStatements } from '../erp-database.js';
import { rawSql, sql } from '../sql.js';

const tables = `(SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\')`;

/** The pragmas as tables. SQLite keeps no figure of how many rows there are. */
export const sqliteCatalogue: CatalogueStatements = {
  tables:
    rawSql(`SELECT NULL AS schema_name, name AS table_name, 1 AS is_in_path, type = 'view' AS is_view, NULL AS approximate_rows
    FROM ${tables} ORDER BY name`),
  columns: rawSql(`SELECT NULL AS schema_name, m.name AS table_name, c.name AS column_name, c.type AS type_name,
      c."notnull" = 0 AND c.pk = 0 AS nullable, 1 AS is_in_path, NULL AS compared_by
    FROM ${tables} m, pragma_table_info(m.name) c ORDER BY m.name, c.cid`),
  // The primary key first: an INTEGER PRIMARY KEY is the table itself, and in no list of indexes.
  indexes: rawSql(`SELECT schema_name, table_name, index_name, is_primary, is_unique, column_name,
      1 AS is_in_path, place FROM (
      SELECT NULL AS schema_name, m.name AS table_name, '' AS index_name, 1 AS is_primary, 1 AS is_unique,
        c.name AS column_name, c.pk AS place
      FROM ${tables} m, pragma_table_info(m.name) c WHERE c.pk > 0
      UNION ALL SELECT NULL, m.name, i.name, 0, i."unique", c.name, c.seqno
      FROM ${tables} m, pragma_index_list(m.name) i, pragma_index_info(i.name) c WHERE i.origin <> 'pk' AND NOT i.partial
    ) ORDER BY table_name, index_name, place`),
  foreignKeys: rawSql(`SELECT NULL AS schema_name, m.name AS table_name, f.id AS key_name, f."from" AS column_name,
      NULL AS referenced_schema, t.name AS referenced_table, f."to" AS referenced_column
    FROM ${tables} m, pragma_foreign_key_list(m.name) f JOIN ${tables} t ON t.name = f."table" COLLATE NOCASE
    ORDER BY m.name, f.id, f.seq`),
};

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
        const [, name] = /^SCAN (?:TABLE )?(\w+)(?: AS \w+)?$/.exec(detail ?? '') ?? [];
        return name === undefined ? [] : [{ schema: null, name }];
      }),
  },
};
