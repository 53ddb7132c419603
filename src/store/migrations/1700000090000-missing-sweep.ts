import type { MigrationInterface, QueryRunner } from 'typeorm';

/** When the sweep began that counted a bound record as missing last: one that broke off is not to count. */
export class MissingSweep1700000090000 implements MigrationInterface {
  name = 'MissingSweep1700000090000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE binding ADD COLUMN missing_in_sweep_at BIGINT NULL');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE binding DROP COLUMN missing_in_sweep_at');
  }
}
