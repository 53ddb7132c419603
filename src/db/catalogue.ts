import type { Sql } from './sql.js';

/**
 * The questions to one kind of database about its tables, whoever asks them. Each statement yields text columns of these
 * names, rows of one table together: `schema_name`, `table_name` and, but for foreignKeys, `is_in_path` 0/1.
 * tables: and `is_view` 0/1, `approximate_rows`. columns: and `column_name`, `type_name`, `nullable` 0/1, `compared_by`
 * (the collation of a text that is not compared byte by byte), in their order. indexes: and `index_name`, `is_primary`
 * 0/1, `is_unique` 0/1, `place`, `column_name` (null where it is not a whole column). foreignKeys: and `key_name`,
 * `column_name`, `referenced_schema`, `referenced_table`, `referenced_column` (null: its primary key).
 */
export interface CatalogueStatements {
  tables: Sql;
  columns: Sql;
  indexes: Sql;
  foreignKeys: Sql;
}

/** Yields `table_name` of all tables that a statement finds without their schema. */
export const tablesInPath = ({ tables }: CatalogueStatements) =>
  `SELECT table_name FROM (${textOf(tables)}) AS t WHERE t.is_in_path=1 AND t.is_view=0 ORDER BY table_name`;

/** Yields all columns of these tables. */
export const columnsInPath = ({ columns }: CatalogueStatements) =>
  `SELECT * FROM (${textOf(columns)}) AS c WHERE c.is_in_path=1`;

/** Yields `column_name` of a table's primary key, in order. Its one parameter is the table. */
export const primaryKey = ({ indexes }: CatalogueStatements) =>
  `SELECT column_name FROM (${textOf(indexes)}) AS i WHERE i.is_in_path=1 AND i.is_primary=1 AND i.table_name=? ORDER BY i.place`;

/** Yields the unique keys of a table that are this column alone. */
export const keysOn = (
  { catalogue, placeholder }: { catalogue: CatalogueStatements; placeholder(at: number): string },
  table: string,
  column: string,
): { sql: string; values: string[] } => ({
  sql: `SELECT index_name FROM (${textOf(catalogue.indexes)}) AS i
    WHERE i.is_in_path=1 AND i.is_unique=1 AND i.table_name=${placeholder(1)}
    GROUP BY index_name HAVING COUNT(*)=1 AND MAX(i.column_name)=${placeholder(2)}`,
  values: [table, column],
});

const textOf = ({ pieces }: Sql) => pieces.join('');
