import type { MigrationInterface, QueryRunner } from 'typeorm';
import { dialectOfSource } from '../../db/databases.js';
import { noWayBack } from './no-way-back.js';
import { type FactColumn, factColumnTypes, sentencesToFacts } from './sentences-to-facts.js';

const unsettled: FactColumn = { table: 'unsettled', sentences: 'reason', name: 'reason' };
const brake: FactColumn = { table: 'capture_cursor', sentences: 'brake_reason', name: 'brake' };

/** Says as facts why an order waits for its lines, and what is wrong with a source as a whole. */
export class ReadingAsFacts1795900060000 implements MigrationInterface {
  name = 'ReadingAsFacts1795900060000';

  async up(runner: QueryRunner): Promise<void> {
    await sentencesToFacts(runner, unsettled);
    await brakesToFacts(runner);
  }

  down = noWayBack;
}

/**
 * Makes one fact of the cause of a brake and its sentence. May run again where an earlier run was interrupted: MySQL and MariaDB
 * commit each statement.
 */
async function brakesToFacts(runner: QueryRunner): Promise<void> {
  const { table, name, sentences } = brake;
  const { columns, jsonObject } = await dialectOfSource(runner.connection).schemaWords(runner);
  const known = new Set((await runner.getTable(table))?.columns.map((column) => column.name));
  for (const [column, type] of Object.entries(factColumnTypes(name)))
    if (!known.has(column)) await runner.query(`ALTER TABLE ${table} ADD COLUMN ${columns(`${column} ${type}`)}`);
  if (known.has(sentences)) {
    const facts = {
      empty: ["'source_empty'", "'{}'"],
      drained: ["'source_drained'", jsonObject('before', 'COALESCE(swept_rows, 0)')],
      restored: ["'source_restored'", jsonObject('evidence', jsonObject('legacy', jsonObject('outside', sentences)))],
    };
    for (const [cause, [code, data]] of Object.entries(facts))
      await runner.query(
        `UPDATE ${table} SET brake_code=${code}, brake_data=${data} WHERE brake='${cause}' AND brake_code IS NULL`,
      );
    await runner.query(`ALTER TABLE ${table} DROP COLUMN ${sentences}`);
  }
  if (known.has('brake')) await runner.query(`ALTER TABLE ${table} DROP COLUMN brake`);
}
