import type { QueryRunner } from 'typeorm';
import { dialectOfSource } from '../../db/databases.js';

/** Adds the columns that a table does not have yet: if each statement commits by itself, an interrupted run has left some of them. */
export async function addMissingColumns(
  runner: QueryRunner,
  table: string,
  types: Readonly<Record<string, string>>,
): Promise<void> {
  const { columns } = await dialectOfSource(runner.connection).schemaWords(runner);
  const known = new Set((await runner.getTable(table))?.columns.map(({ name }) => name));
  for (const [name, type] of Object.entries(types))
    if (!known.has(name)) await runner.query(`ALTER TABLE ${table} ADD COLUMN ${columns(`${name} ${type}`)}`);
}
