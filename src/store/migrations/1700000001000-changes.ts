import type { MigrationInterface, QueryRunner } from 'typeorm';
import { exactCollation } from './1700000000000-initial.js';

/**
 * What changes and withdrawals need: the frozen method of an update, what identifies a record besides its key, how often
 * a sweep missed it, where the ERP's marks stood, and what was withdrawn at the service.
 */
export class Changes1700000001000 implements MigrationInterface {
  name = 'Changes1700000001000';

  async up(runner: QueryRunner): Promise<void> {
    const sqlite = runner.connection.options.type === 'better-sqlite3';
    const end = sqlite ? '' : ` ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=${await exactCollation(runner)}`;
    const statements = [
      'ALTER TABLE outbox_message ADD COLUMN method VARCHAR(8) NULL',
      'ALTER TABLE outbox_message ADD COLUMN identity VARCHAR(500) NULL',
      'ALTER TABLE binding ADD COLUMN identity VARCHAR(500) NULL',
      'ALTER TABLE binding ADD COLUMN missing_sweeps INT NOT NULL DEFAULT 0',
      'ALTER TABLE capture_cursor ADD COLUMN high_changed_at VARCHAR(64) NULL',
      'ALTER TABLE capture_cursor ADD COLUMN high_key VARCHAR(255) NULL',
      'ALTER TABLE capture_cursor ADD COLUMN swept_rows BIGINT NULL',
      'ALTER TABLE capture_cursor ADD COLUMN brake VARCHAR(16) NULL',
      'ALTER TABLE capture_cursor ADD COLUMN brake_reason VARCHAR(1000) NULL',
      `CREATE TABLE closed_binding (
        entity VARCHAR(16) NOT NULL,
        source_key VARCHAR(255) NOT NULL,
        service_id VARCHAR(255) NOT NULL,
        revision INT NOT NULL,
        generation INT NOT NULL,
        closed_at BIGINT NOT NULL,
        PRIMARY KEY (entity, source_key)
      )${end}`,
    ];
    for (const statement of statements) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE IF EXISTS closed_binding');
    const columns: [string, string[]][] = [
      ['capture_cursor', ['brake_reason', 'brake', 'swept_rows', 'high_key', 'high_changed_at']],
      ['binding', ['missing_sweeps', 'identity']],
      ['outbox_message', ['identity', 'method']],
    ];
    for (const [table, names] of columns)
      for (const name of names) await runner.query(`ALTER TABLE ${table} DROP COLUMN ${name}`);
  }
}
