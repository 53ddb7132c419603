import type { CatalogueStatements } from '../erp-database.js';
import { rawSql } from '../sql.js';

/** Tables, views and foreign tables of the ERP that the account may read; a partition belongs to its table. */
const relations = `(SELECT c.oid, c.relkind, c.reltuples, c.relname::text AS table_name,
      n.nspname::text AS schema_name
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema'
      AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_inherits i JOIN pg_catalog.pg_class parent ON parent.oid = i.inhparent
        WHERE i.inhrelid = c.oid AND parent.relkind = 'p')
      AND pg_catalog.has_schema_privilege(n.oid, 'USAGE')
      AND pg_catalog.has_any_column_privilege(c.oid, 'SELECT'))`;
const flag = (condition: string) => `CASE WHEN ${condition} THEN 1 ELSE 0 END`;

/** From PostgreSQL's own tables: the views of the standard leave out what another account owns. */
export const postgresCatalogue: CatalogueStatements = {
  tables: rawSql(`SELECT r.schema_name, r.table_name, ${flag('pg_catalog.pg_table_is_visible(r.oid)')} AS is_in_path,
      ${flag("r.relkind IN ('v', 'm')")} AS is_view,
      CASE WHEN r.reltuples >= 0 AND r.relkind IN ('r', 'm') THEN r.reltuples::bigint END AS approximate_rows
    FROM ${relations} r ORDER BY r.schema_name, r.table_name`),
  columns: rawSql(`SELECT r.schema_name, r.table_name, a.attname::text AS column_name,
      pg_catalog.format_type(a.atttypid, a.atttypmod) AS type_name, ${flag('NOT a.attnotnull')} AS nullable
    FROM ${relations} r JOIN pg_catalog.pg_attribute a ON a.attrelid = r.oid
    WHERE a.attnum > 0 AND NOT a.attisdropped ORDER BY r.schema_name, r.table_name, a.attnum`),
  // A partial index says nothing about all rows. An expression has the number 0, and so no column.
  indexes:
    rawSql(`SELECT r.schema_name, r.table_name, x.indexrelid::bigint AS index_name, ${flag('x.indisprimary')} AS is_primary,
      ${flag('x.indisunique')} AS is_unique, a.attname::text AS column_name
    FROM ${relations} r JOIN pg_catalog.pg_index x ON x.indrelid = r.oid
    CROSS JOIN LATERAL unnest(x.indkey::int2[]) WITH ORDINALITY AS k(attnum, place)
    LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = r.oid AND a.attnum = k.attnum AND k.attnum > 0
    WHERE x.indpred IS NULL AND x.indisvalid ORDER BY r.schema_name, r.table_name, x.indexrelid, k.place`),
  foreignKeys: rawSql(`SELECT r.schema_name, r.table_name, f.conname::text AS key_name, a.attname::text AS column_name,
      t.schema_name AS referenced_schema, t.table_name AS referenced_table, b.attname::text AS referenced_column
    FROM ${relations} r JOIN pg_catalog.pg_constraint f ON f.conrelid = r.oid AND f.contype = 'f'
    JOIN ${relations} t ON t.oid = f.confrelid
    CROSS JOIN LATERAL unnest(f.conkey, f.confkey) WITH ORDINALITY AS k(own, other, place)
    JOIN pg_catalog.pg_attribute a ON a.attrelid = f.conrelid AND a.attnum = k.own
    JOIN pg_catalog.pg_attribute b ON b.attrelid = f.confrelid AND b.attnum = k.other
    ORDER BY r.schema_name, r.table_name, f.conname, k.place`),
};
