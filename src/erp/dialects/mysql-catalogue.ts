import type { CatalogueStatements, ErpRow, InspectionStatements } from '../erp-database.js';
import { rawSql, sql } from '../sql.js';

/** MySQL and MariaDB. Names are given again, because MySQL 8 writes those of its own views in capital letters. */
export const mysqlCatalogue: CatalogueStatements = {
  tables:
    rawSql(`SELECT NULL AS schema_name, table_name AS table_name, 1 AS is_in_path, table_type <> 'BASE TABLE' AS is_view,
      table_rows AS approximate_rows
    FROM information_schema.tables WHERE table_schema = DATABASE() ORDER BY table_name`),
  columns: rawSql(`SELECT NULL AS schema_name, table_name AS table_name, column_name AS column_name,
      column_type AS type_name, is_nullable = 'YES' AS nullable
    FROM information_schema.columns WHERE table_schema = DATABASE() ORDER BY table_name, ordinal_position`),
  // An index over the beginning of a text is not one of the column.
  indexes: rawSql(`SELECT NULL AS schema_name, table_name AS table_name, index_name AS index_name,
      index_name = 'PRIMARY' AS is_primary, non_unique = 0 AS is_unique,
      CASE WHEN sub_part IS NULL THEN column_name END AS column_name
    FROM information_schema.statistics WHERE table_schema = DATABASE() ORDER BY table_name, index_name, seq_in_index`),
  foreignKeys: rawSql(`SELECT NULL AS schema_name, table_name AS table_name, constraint_name AS key_name,
      column_name AS column_name, NULL AS referenced_schema, referenced_table_name AS referenced_table,
      referenced_column_name AS referenced_column
    FROM information_schema.key_column_usage
    WHERE table_schema = DATABASE() AND referenced_table_schema = DATABASE()
    ORDER BY table_name, constraint_name, ordinal_position`),
};

/** Rights that change rows or tables. */
const WRITING =
  /^(ALL PRIVILEGES|SUPER|(INSERT|UPDATE|DELETE|CREATE|DROP|ALTER|INDEX|TRIGGER|REFERENCES|EVENT|FILE)\b)/;

/** MySQL and MariaDB. */
export const mysqlInspection: InspectionStatements = {
  server: rawSql(`SELECT VERSION() AS version,
      CONCAT(@@character_set_database, ', ', @@collation_database) AS charset,
      CASE @@global.time_zone WHEN 'SYSTEM' THEN CONCAT('SYSTEM (', @@system_time_zone, ')') ELSE @@global.time_zone END AS zone`),
  rights: rawSql('SHOW GRANTS'),
  writeRights: (rows) => rows.flatMap(writingIn),
  hiddenTables: null,
  explain: {
    of: (statement) => sql`EXPLAIN ${statement}`,
    // A materialised step of the query is called <derived2>.
    scans: (plan) =>
      plan.flatMap(({ type, table }) => (type === 'ALL' && table != null && !table.startsWith('<') ? [table] : [])),
  },
};

function writingIn(row: ErpRow): string[] {
  const { rights = [], on = '' } = grantIn(Object.values(row)[0] ?? '') ?? {};
  const writing = rights.filter((right) => WRITING.test(right));
  return writing.length === 0 ? [] : [`${writing.join(', ')} on ${on}`];
}

/**
 * `GRANT SELECT, UPDATE (a, b) ON erp.* TO …`, with names in backticks. Null: a role, which comes without ON; its rights have lines
 * of their own. `account` as a statement writes it.
 */
export function grantIn(grant: string): { rights: string[]; on: string; account: string } | null {
  const [, rights, on = '', account = ''] =
    /^GRANT (.+?) ON ((?:`[^`]+`|\*)\.(?:`[^`]+`|\*)) TO ([`'][^`']*[`'](?:@[`'][^`']*[`'])?)/s.exec(grant) ?? [];
  if (rights === undefined) return null;
  const names = rights.replace(/\([^)]*\)/g, '').split(',');
  return { rights: names.map((name) => name.trim()), on: on.replaceAll('`', ''), account };
}
