import type { MigrationInterface, QueryRunner } from 'typeorm';
import { exactCollation } from './1700000000000-initial.js';

/** What was written back into the ERP, and how far that has come. */
export class WriteBack1700000070000 implements MigrationInterface {
  name = 'WriteBack1700000070000';

  async up(runner: QueryRunner): Promise<void> {
    const sqlite = runner.connection.options.type === 'better-sqlite3';
    const end = sqlite ? '' : ` ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=${await exactCollation(runner)}`;
    const statements = [
      // content_hash: of what the ERP has, or of what it refused where refusal is not null; it is tried again at next_try_at.
      `CREATE TABLE write_back_row (
        kind VARCHAR(16) NOT NULL,
        record_key VARCHAR(255) NOT NULL,
        content_hash CHAR(64) NOT NULL,
        refusal VARCHAR(1000) NULL,
        next_try_at BIGINT NULL,
        PRIMARY KEY (kind, record_key)
      )${end}`,
      'CREATE INDEX write_back_row_due ON write_back_row (kind, next_try_at)',
      // change_cursor: of the audit for orders and customers, a time for invoices. sweep_after is null between two sweeps.
      `CREATE TABLE write_back_target (
        kind VARCHAR(16) NOT NULL PRIMARY KEY,
        fingerprint CHAR(64) NOT NULL,
        change_cursor BIGINT NOT NULL,
        sweep_after VARCHAR(300) NULL,
        swept_at BIGINT NULL,
        succeeded_at BIGINT NULL,
        failures INT NOT NULL DEFAULT 0,
        failing_since BIGINT NULL,
        failure VARCHAR(1000) NULL,
        next_try_at BIGINT NOT NULL DEFAULT 0
      )${end}`,
      'CREATE INDEX invoice_last_listed ON invoice (last_listed_at)',
      'CREATE INDEX invoice_unlisted ON invoice (unlisted_at)',
    ];
    for (const statement of statements) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    const on = runner.connection.options.type === 'better-sqlite3' ? '' : ' ON invoice';
    for (const index of ['invoice_unlisted', 'invoice_last_listed']) await runner.query(`DROP INDEX ${index}${on}`);
    for (const table of ['write_back_target', 'write_back_row']) await runner.query(`DROP TABLE IF EXISTS ${table}`);
  }
}
