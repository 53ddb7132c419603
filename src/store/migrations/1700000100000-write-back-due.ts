import type { MigrationInterface, QueryRunner } from 'typeorm';
import { exactCollation } from './1700000000000-initial.js';

/** Which records are due for write-back, marked by the transactions that change them. */
export class WriteBackDue1700000100000 implements MigrationInterface {
  name = 'WriteBackDue1700000100000';

  async up(runner: QueryRunner): Promise<void> {
    const sqlite = runner.connection.options.type === 'better-sqlite3';
    const end = sqlite ? '' : ` ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=${await exactCollation(runner)}`;
    const id = sqlite ? 'INTEGER PRIMARY KEY AUTOINCREMENT' : 'BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY';
    const statements = [
      `CREATE TABLE write_back_due (
        id ${id},
        kind VARCHAR(16) NOT NULL,
        record_key VARCHAR(255) NOT NULL
      )${end}`,
      'CREATE INDEX write_back_due_kind ON write_back_due (kind, id)',
      'ALTER TABLE write_back_target DROP COLUMN change_cursor',
      // What changed before there were marks.
      "UPDATE write_back_target SET sweep_after='known:' WHERE sweep_after IS NULL OR sweep_after NOT LIKE 'found:%'",
    ];
    for (const statement of statements) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE write_back_target ADD COLUMN change_cursor BIGINT NOT NULL DEFAULT 0');
    await runner.query('DROP TABLE write_back_due');
  }
}
