import type { QueryRunner } from 'typeorm';
import { dialectOfSource } from '../../db/databases.js';

/** A column of sentences, and the name of the fact in its place. */
export interface FactColumn {
  table: string;
  sentences: string;
  /** The names of the new columns, without `_code` and `_data`. */
  name: string;
}

/** Columns that hold a fact. */
export const factColumnTypes = (name: string): Readonly<Record<string, string>> => ({
  [`${name}_code`]: 'VARCHAR(40) NULL',
  [`${name}_data`]: 'TEXT NULL',
});

/**
 * Replaces a column of sentences by a code and its data as JSON. The old sentence becomes the code `legacy` with its
 * text. May run again where an earlier run was interrupted: MySQL and MariaDB commit each statement.
 */
export async function sentencesToFacts(runner: QueryRunner, { table, sentences, name }: FactColumn): Promise<void> {
  const { columns, jsonObject } = await dialectOfSource(runner.connection).schemaWords(runner);
  const known = new Set((await runner.getTable(table))?.columns.map((column) => column.name));
  for (const [column, type] of Object.entries(factColumnTypes(name)))
    if (!known.has(column)) await runner.query(`ALTER TABLE ${table} ADD COLUMN ${columns(`${column} ${type}`)}`);
  if (!known.has(sentences)) return;
  const text = jsonObject('text', jsonObject('outside', sentences));
  await runner.query(
    `UPDATE ${table} SET ${name}_code='legacy', ${name}_data=${text} WHERE ${sentences} IS NOT NULL AND ${name}_code IS NULL`,
  );
  await runner.query(`ALTER TABLE ${table} DROP COLUMN ${sentences}`);
}
