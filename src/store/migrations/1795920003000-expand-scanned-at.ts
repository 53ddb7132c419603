import type { MigrationInterface, QueryRunner } from 'typeorm';
import { dialectOfSource } from '../../db/databases.js';
import { noWayBack } from './no-way-back.js';

/**
 * Column of `capture_cursor`, NULL at first.
 * scanned_at: when the last scan began, over changes or over everything, that came to its end; null: none has.
 */
export const scannedAtColumn: Readonly<Record<string, string>> = { scanned_at: 'BIGINT NULL' };

/** Tells creates that have waited since before the last scan: their rows may have left the ERP. */
export class ExpandScannedAt1795920003000 implements MigrationInterface {
  name = 'ExpandScannedAt1795920003000';

  async up(runner: QueryRunner): Promise<void> {
    const { columns } = await dialectOfSource(runner.connection).schemaWords(runner);
    const known = new Set((await runner.getTable('capture_cursor'))?.columns.map(({ name }) => name));
    for (const [name, type] of Object.entries(scannedAtColumn))
      if (!known.has(name)) await runner.query(`ALTER TABLE capture_cursor ADD COLUMN ${columns(`${name} ${type}`)}`);
  }

  down = noWayBack;
}
