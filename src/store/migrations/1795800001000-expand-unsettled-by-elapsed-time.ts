import type { MigrationInterface, QueryRunner } from 'typeorm';
import { noWayBack } from './no-way-back.js';

/** Counts how long an order has waited for its lines by time that surely passed (`Elapsed`). Null: since now. */
export class ExpandUnsettledByElapsedTime1795800001000 implements MigrationInterface {
  name = 'ExpandUnsettledByElapsedTime1795800001000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE unsettled ADD COLUMN first_seen_elapsed BIGINT NULL');
  }

  down = noWayBack;
}
