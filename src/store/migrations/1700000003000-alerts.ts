import type { MigrationInterface, QueryRunner } from 'typeorm';
import { exactCollation } from './1700000000000-initial.js';

/** Alerts, each with what somebody was told of it, and how the last runs of the jobs went. */
export class Alerts1700000003000 implements MigrationInterface {
  name = 'Alerts1700000003000';

  async up(runner: QueryRunner): Promise<void> {
    const sqlite = runner.connection.options.type === 'better-sqlite3';
    const id = sqlite ? 'INTEGER PRIMARY KEY AUTOINCREMENT' : 'BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY';
    const end = sqlite ? '' : ` ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=${await exactCollation(runner)}`;
    const statements = [
      // open_cause holds the cause while it lasts, so that each cause is open once at most.
      `CREATE TABLE alert (
        id ${id},
        cause VARCHAR(64) NOT NULL,
        open_cause VARCHAR(64) NULL UNIQUE,
        message VARCHAR(1000) NOT NULL,
        details TEXT NOT NULL,
        since_at BIGINT NOT NULL,
        over_at BIGINT NULL,
        raised_told_at BIGINT NULL,
        over_told_at BIGINT NULL,
        tries INT NOT NULL DEFAULT 0,
        next_try_at BIGINT NOT NULL
      )${end}`,
      'CREATE INDEX alert_untold ON alert (over_told_at, next_try_at)',
      `CREATE TABLE job_run (
        job VARCHAR(16) NOT NULL PRIMARY KEY,
        succeeded_at BIGINT NULL,
        failures INT NOT NULL,
        failing_since BIGINT NULL,
        failure VARCHAR(1000) NULL
      )${end}`,
    ];
    for (const statement of statements) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const table of ['job_run', 'alert']) await runner.query(`DROP TABLE IF EXISTS ${table}`);
  }
}
