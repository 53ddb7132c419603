import type { MigrationInterface, QueryRunner } from 'typeorm';
import { exactCollation } from './1700000000000-initial.js';

/**
 * What a pull that proves itself needs: a staging that knows in which passes a row was met, how far the pull has come, what the
 * service said of an invoice that left, and what was set aside.
 */
export class Pull1700000020000 implements MigrationInterface {
  name = 'Pull1700000020000';

  async up(runner: QueryRunner): Promise<void> {
    const sqlite = runner.connection.options.type === 'better-sqlite3';
    const end = sqlite ? '' : ` ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=${await exactCollation(runner)}`;
    const statements = [
      'DROP TABLE invoice_staging',
      // The one pull in the making. customer_code is empty where everybody's invoices are asked for at once.
      `CREATE TABLE invoice_staging (
        list_customer VARCHAR(255) NOT NULL,
        list_state VARCHAR(64) NOT NULL,
        row_key VARCHAR(260) NOT NULL,
        invoice_no VARCHAR(255) NULL,
        customer_code VARCHAR(255) NULL,
        amount BIGINT NULL,
        due_date CHAR(10) NULL,
        status VARCHAR(64) NULL,
        malformed VARCHAR(500) NULL,
        has_left INT NOT NULL DEFAULT 0,
        is_newest INT NOT NULL DEFAULT 1,
        first_pass INT NOT NULL,
        last_pass INT NOT NULL,
        PRIMARY KEY (list_customer, list_state, row_key)
      )${end}`,
      'CREATE INDEX invoice_staging_number ON invoice_staging (invoice_no)',
      `CREATE TABLE invoice_group (
        list_customer VARCHAR(255) NOT NULL PRIMARY KEY,
        is_proven INT NOT NULL
      )${end}`,
      `CREATE TABLE invoice_malformed (
        list_customer VARCHAR(255) NOT NULL,
        list_state VARCHAR(64) NOT NULL,
        row_key VARCHAR(260) NOT NULL,
        invoice_no VARCHAR(255) NULL,
        reason VARCHAR(500) NOT NULL,
        since_at BIGINT NOT NULL,
        PRIMARY KEY (list_customer, list_state, row_key)
      )${end}`,
      `CREATE TABLE invoice_state (
        status VARCHAR(64) NOT NULL PRIMARY KEY,
        invoice_no VARCHAR(255) NOT NULL,
        since_at BIGINT NOT NULL
      )${end}`,
      'CREATE INDEX binding_service_id ON binding (entity, service_id)',
      'ALTER TABLE invoice ADD COLUMN missed_at BIGINT NULL',
      'ALTER TABLE invoice ADD COLUMN left_status VARCHAR(64) NULL',
      'ALTER TABLE invoice_pull DROP COLUMN filter_status',
      "ALTER TABLE invoice_pull ADD COLUMN states VARCHAR(1500) NOT NULL DEFAULT 'unpaid'",
      'ALTER TABLE invoice_pull ADD COLUMN passes INT NOT NULL DEFAULT 0',
      'ALTER TABLE invoice_pull ADD COLUMN asked INT NOT NULL DEFAULT 0',
      'ALTER TABLE invoice_pull ADD COLUMN missed INT NOT NULL DEFAULT 0',
      'ALTER TABLE invoice_pull ADD COLUMN progress TEXT NULL',
      'ALTER TABLE invoice_pull ADD COLUMN progress_at BIGINT NULL',
      // As many as the service says there are is no proof.
      "UPDATE invoice_pull SET outcome='unproven' WHERE outcome IN ('complete','incomplete')",
      "UPDATE invoice_pull SET outcome='failed', ended_at=started_at WHERE outcome='running'",
    ];
    for (const statement of statements) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    const sqlite = runner.connection.options.type === 'better-sqlite3';
    const end = sqlite ? '' : ` ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=${await exactCollation(runner)}`;
    const statements = [
      "UPDATE invoice_pull SET outcome='complete' WHERE outcome='proven'",
      "UPDATE invoice_pull SET outcome='incomplete' WHERE outcome='unproven'",
      ...['progress_at', 'progress', 'missed', 'asked', 'passes', 'states'].map(
        (column) => `ALTER TABLE invoice_pull DROP COLUMN ${column}`,
      ),
      "ALTER TABLE invoice_pull ADD COLUMN filter_status VARCHAR(64) NOT NULL DEFAULT 'unpaid'",
      'ALTER TABLE invoice DROP COLUMN left_status',
      'ALTER TABLE invoice DROP COLUMN missed_at',
      sqlite ? 'DROP INDEX binding_service_id' : 'DROP INDEX binding_service_id ON binding',
      ...['invoice_state', 'invoice_malformed', 'invoice_group', 'invoice_staging'].map(
        (table) => `DROP TABLE IF EXISTS ${table}`,
      ),
      `CREATE TABLE invoice_staging (
        pull_id BIGINT NOT NULL,
        invoice_no VARCHAR(255) NOT NULL,
        customer_code VARCHAR(255) NULL,
        amount BIGINT NOT NULL,
        due_date CHAR(10) NOT NULL,
        status VARCHAR(64) NOT NULL,
        PRIMARY KEY (pull_id, invoice_no)
      )${end}`,
    ];
    for (const statement of statements) await runner.query(statement);
  }
}
