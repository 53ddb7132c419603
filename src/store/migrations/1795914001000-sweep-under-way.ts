import type { MigrationInterface, QueryRunner } from 'typeorm';
import { dialectOfSource } from '../../db/databases.js';
import { addMissingColumns } from './missing-columns.js';
import { noWayBack } from './no-way-back.js';

/**
 * Columns of `capture_cursor`.
 * sweep_begun_at: when the last sweep began. NULL: none has begun since somebody asked for one.
 */
const sweepBegunColumns: Readonly<Record<string, string>> = { sweep_begun_at: 'BIGINT NULL' };

/**
 * Gives the beginning of a sweep a column of its own, where a `swept_at` of 0 stood for it. No expansion: an earlier version would
 * still write 0. Each step may run twice, since MySQL and MariaDB commit each statement that changes the schema.
 */
export class SweepUnderWay1795914001000 implements MigrationInterface {
  name = 'SweepUnderWay1795914001000';

  async up(runner: QueryRunner): Promise<void> {
    const { addCheck } = await dialectOfSource(runner.connection).schemaWords(runner);
    await addMissingColumns(runner, 'capture_cursor', sweepBegunColumns);
    // The sweep has not come to its end: the next pass begins another one.
    await runner.query('UPDATE capture_cursor SET swept_at=NULL WHERE swept_at=0');
    await addCheck('capture_cursor', 'capture_cursor_swept', 'swept_at IS NULL OR swept_at>0');
    await addCheck('capture_cursor', 'capture_cursor_sweep_begun', 'sweep_begun_at IS NULL OR sweep_begun_at>0');
  }

  down = noWayBack;
}
