import type { MigrationInterface, QueryRunner } from 'typeorm';
import { exactCollation } from './1700000000000-initial.js';

/** Records that somebody else made at the service, and that were bound. */
export class Adoptions1700000010000 implements MigrationInterface {
  name = 'Adoptions1700000010000';

  async up(runner: QueryRunner): Promise<void> {
    const sqlite = runner.connection.options.type === 'better-sqlite3';
    const end = sqlite ? '' : ` ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=${await exactCollation(runner)}`;
    const statements = [
      // differs: names of fields as a JSON array; null where nobody has compared. reviewed_at: when a person said what becomes of it.
      `CREATE TABLE adoption (
        entity VARCHAR(16) NOT NULL,
        source_key VARCHAR(255) NOT NULL,
        service_id VARCHAR(255) NOT NULL,
        adopted_from VARCHAR(16) NOT NULL,
        adopted_at BIGINT NOT NULL,
        actor VARCHAR(255) NOT NULL,
        differs TEXT NULL,
        reviewed_at BIGINT NULL,
        PRIMARY KEY (entity, source_key)
      )${end}`,
    ];
    for (const statement of statements) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE IF EXISTS adoption');
  }
}
