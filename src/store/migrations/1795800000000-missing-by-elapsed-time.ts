import type { MigrationInterface, QueryRunner } from 'typeorm';
import { noWayBack } from './no-way-back.js';

/**
 * Counts how long a record has been missing in the ERP by time that surely passed (`Elapsed`), not by the wall clock. The old wall
 * times lie ahead of every such moment, so they count as "missing since now" and delay a removal, never bring it forward.
 * Not an expansion: an older version would take the new moments for wall times of 1970, and send removals at once.
 */
export class MissingByElapsedTime1795800000000 implements MigrationInterface {
  name = 'MissingByElapsedTime1795800000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE binding RENAME COLUMN missing_since TO missing_since_elapsed');
  }

  down = noWayBack;
}
