import type { MigrationInterface, QueryRunner } from 'typeorm';
import { dialectOfSource } from '../../db/databases.js';
import { noWayBack } from './no-way-back.js';

/**
 * The phase of a write-back sweep: 'found', 'known', 'parked' or 'written'. Null: none is under way. `sweep_after` is then the last
 * key of that phase, and no longer begins with the phase's name.
 */
const sweepColumns: Readonly<Record<string, string>> = { sweep_phase: 'VARCHAR(8) NULL' };

const unknownContent = '?'.repeat(64);
/** Columns that had 0 for "never" or "at once". */
const zeroes = [
  ['binding', 'read_asked_at'],
  ['write_back_target', 'next_try_at'],
] as const;
/** Columns in which a text stood for a hash that is not known. */
const hashes = [
  ['outbox_message', unknownContent],
  ['binding', unknownContent],
  ['write_back_row', ''],
] as const;
const readIndex = 'binding_read';

/** The name and condition of each constraint, by its table. */
const checks: readonly [table: string, name: string, condition: string][] = [
  ['outbox_message', 'outbox_message_content', `content_hash IS NULL OR content_hash<>'${unknownContent}'`],
  ['binding', 'binding_content', `content_hash IS NULL OR content_hash<>'${unknownContent}'`],
  ['binding', 'binding_read_asked', 'read_asked_at IS NULL OR read_asked_at>0'],
  ['write_back_row', 'write_back_row_content', "content_hash IS NULL OR content_hash<>''"],
  ['write_back_target', 'write_back_target_try', 'next_try_at IS NULL OR (next_try_at>0 AND failures>0)'],
  [
    'write_back_target',
    'write_back_target_sweep',
    "(sweep_phase IS NULL AND sweep_after IS NULL) OR (sweep_phase IS NOT NULL AND sweep_phase IN ('found','known','parked','written'))",
  ],
];

/**
 * Unknown values, and events that have not happened, are NULL, where a magic value said so. No expansion: an earlier
 * version would still write those values. Each step may run twice, since MySQL and MariaDB commit each statement that
 * changes the schema.
 */
export class UnknownsAreNull1795900001000 implements MigrationInterface {
  name = 'UnknownsAreNull1795900001000';

  async up(runner: QueryRunner): Promise<void> {
    const { columns, nullability, addCheck } = await dialectOfSource(runner.connection).schemaWords(runner);
    for (const [table, unknown] of hashes) {
      await runner.query(`ALTER TABLE ${table} ${nullability('content_hash', 'CHAR(64)', 'NULL')}`);
      await runner.query(`UPDATE ${table} SET content_hash=NULL WHERE content_hash='${unknown}'`);
    }
    for (const [table, column] of zeroes) await withoutDefault(runner, table, column);
    if (!(await columnOf(runner, 'write_back_target', 'sweep_phase')))
      for (const [name, type] of Object.entries(sweepColumns))
        await runner.query(`ALTER TABLE write_back_target ADD COLUMN ${columns(`${name} ${type}`)}`);
    for (const phase of ['found', 'known', 'parked', 'written'])
      await runner.query(
        `UPDATE write_back_target SET sweep_phase='${phase}', sweep_after=NULLIF(SUBSTR(sweep_after, ${phase.length + 2}), '')
          WHERE sweep_phase IS NULL AND sweep_after LIKE '${phase}:%'`,
      );
    for (const [table, name, condition] of checks) await addCheck(table, name, condition);
  }

  down = noWayBack;
}

async function columnOf(runner: QueryRunner, table: string, name: string) {
  return (await runner.getTable(table))?.columns.find((column) => column.name === name);
}

/** Puts a column without default in the place of one whose default is 0. SQLite can't take a default away. */
async function withoutDefault(runner: QueryRunner, table: string, column: string): Promise<void> {
  const before = `${column}_before`;
  const isBegun = (await columnOf(runner, table, before)) !== undefined;
  if (!isBegun && (await columnOf(runner, table, column))?.isNullable) return;
  const isIndexed = (await runner.getTable(table))?.indices.some(({ name }) => name === readIndex) ?? false;
  if (isIndexed) await runner.dropIndex(table, readIndex);
  if (!isBegun) await runner.query(`ALTER TABLE ${table} RENAME COLUMN ${column} TO ${before}`);
  if (!(await columnOf(runner, table, column)))
    await runner.query(`ALTER TABLE ${table} ADD COLUMN ${column} BIGINT NULL`);
  await runner.query(`UPDATE ${table} SET ${column}=NULLIF(${before}, 0)`);
  if (table === 'binding')
    await runner.query(`CREATE INDEX ${readIndex} ON binding (entity, read_state, read_asked_at)`);
  await runner.query(`ALTER TABLE ${table} DROP COLUMN ${before}`);
}
