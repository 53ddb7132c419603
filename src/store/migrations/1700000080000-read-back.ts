import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What the service says of a delivered order, kept with its binding: status and total in its own words, when it was read and
 * of which id, and when it was asked for last, which is where the reading goes on.
 */
export class ReadBack1700000080000 implements MigrationInterface {
  name = 'ReadBack1700000080000';

  async up(runner: QueryRunner): Promise<void> {
    const statements = [
      "ALTER TABLE binding ADD COLUMN read_state VARCHAR(8) NOT NULL DEFAULT 'open'",
      'ALTER TABLE binding ADD COLUMN read_asked_at BIGINT NOT NULL DEFAULT 0',
      'ALTER TABLE binding ADD COLUMN read_at BIGINT NULL',
      'ALTER TABLE binding ADD COLUMN gone_at BIGINT NULL',
      'ALTER TABLE binding ADD COLUMN read_id VARCHAR(255) NULL',
      'ALTER TABLE binding ADD COLUMN read_flag VARCHAR(500) NULL',
      'ALTER TABLE binding ADD COLUMN service_status VARCHAR(255) NULL',
      'ALTER TABLE binding ADD COLUMN service_total BIGINT NULL',
      'CREATE INDEX binding_read ON binding (entity, read_state, read_asked_at)',
    ];
    for (const statement of statements) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    const sqlite = runner.connection.options.type === 'better-sqlite3';
    await runner.query(`DROP INDEX binding_read${sqlite ? '' : ' ON binding'}`);
    const columns = [
      'service_total',
      'service_status',
      'read_flag',
      'read_id',
      'read_at',
      'read_asked_at',
      'read_state',
    ];
    for (const column of columns) await runner.query(`ALTER TABLE binding DROP COLUMN ${column}`);
  }
}
