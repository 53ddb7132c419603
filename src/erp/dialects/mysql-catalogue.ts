import type { CatalogueStatements } from '../erp-database.js';
import { rawSql } from '../sql.js';

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
