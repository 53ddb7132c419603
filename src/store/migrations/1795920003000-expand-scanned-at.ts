import type { MigrationInterface, QueryRunner } from 'typeorm';
import { addMissingColumns } from './missing-columns.js';
import { noWayBack } from './no-way-back.js';

/**
 * Column of `capture_cursor`, NULL at first.
 * scanned_at: when the last scan began, over changes or over everything, that came to its end; null: none has.
 */
const scannedAtColumn: Readonly<Record<string, string>> = { scanned_at: 'BIGINT NULL' };

/** Tells creates that have waited since before the last scan: their rows may have left the ERP. */
export class ExpandScannedAt1795920003000 implements MigrationInterface {
  name = 'ExpandScannedAt1795920003000';

  async up(runner: QueryRunner): Promise<void> {
    await addMissingColumns(runner, 'capture_cursor', scannedAtColumn);
  }

  down = noWayBack;
}
