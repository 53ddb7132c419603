import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The first schema. One text for both databases; what differs is named once at the top.
 * Times are milliseconds since 1970 (UTC). Source keys are compared byte by byte.
 */
export class Initial1700000000000 implements MigrationInterface {
  name = 'Initial1700000000000';

  async up(runner: QueryRunner): Promise<void> {
    const sqlite = runner.connection.options.type === 'better-sqlite3';
    const id = sqlite ? 'INTEGER PRIMARY KEY AUTOINCREMENT' : 'BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY';
    const longText = sqlite ? 'TEXT' : 'MEDIUMTEXT';
    const end = sqlite ? '' : ` ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=${await exactCollation(runner)}`;

    const statements = [
      `CREATE TABLE store_info (
        name VARCHAR(64) NOT NULL PRIMARY KEY,
        value TEXT NOT NULL
      )${end}`,
      `CREATE TABLE outbox_message (
        id ${id},
        entity VARCHAR(16) NOT NULL,
        source_key VARCHAR(255) NOT NULL,
        revision INT NOT NULL,
        operation VARCHAR(8) NOT NULL,
        generation INT NOT NULL,
        number VARCHAR(255) NULL,
        source_changed_at VARCHAR(64) NULL,
        customer_key VARCHAR(255) NULL,
        idempotency_key VARCHAR(64) NULL,
        body_hash CHAR(64) NULL,
        content_hash CHAR(64) NOT NULL,
        mapping_fingerprint CHAR(64) NOT NULL,
        state VARCHAR(12) NOT NULL,
        park_class VARCHAR(12) NULL,
        reason VARCHAR(1000) NULL,
        next_attempt_at BIGINT NOT NULL,
        claim_epoch BIGINT NULL,
        claimed_from VARCHAR(12) NULL,
        attempts INT NOT NULL DEFAULT 0,
        failures INT NOT NULL DEFAULT 0,
        invalid_answers INT NOT NULL DEFAULT 0,
        customer_waits INT NOT NULL DEFAULT 0,
        first_sent_at BIGINT NULL,
        service_id VARCHAR(255) NULL,
        flag VARCHAR(500) NULL,
        captured_at BIGINT NOT NULL,
        closed_at BIGINT NULL,
        UNIQUE (source_key, entity, revision)
      )${end}`,
      'CREATE INDEX outbox_message_due ON outbox_message (state, entity, next_attempt_at, id)',
      'CREATE INDEX outbox_message_customer ON outbox_message (customer_key, state)',
      'CREATE INDEX outbox_message_number ON outbox_message (number)',
      `CREATE TABLE message_body (
        message_id BIGINT NOT NULL PRIMARY KEY,
        record ${longText} NOT NULL,
        body ${longText} NULL
      )${end}`,
      `CREATE TABLE binding (
        entity VARCHAR(16) NOT NULL,
        source_key VARCHAR(255) NOT NULL,
        service_id VARCHAR(255) NOT NULL,
        revision INT NOT NULL,
        generation INT NOT NULL,
        content_hash CHAR(64) NOT NULL,
        mapping_fingerprint CHAR(64) NOT NULL,
        acknowledged ${longText} NULL,
        acknowledged_at BIGINT NOT NULL,
        PRIMARY KEY (entity, source_key)
      )${end}`,
      `CREATE TABLE attempt (
        id ${id},
        message_id BIGINT NULL,
        purpose VARCHAR(16) NOT NULL,
        number INT NOT NULL,
        epoch BIGINT NOT NULL,
        idempotency_key VARCHAR(64) NULL,
        body_hash CHAR(64) NULL,
        intended_at BIGINT NOT NULL,
        started_at BIGINT NULL,
        duration_ms INT NULL,
        status INT NULL,
        verdict VARCHAR(20) NULL,
        reason VARCHAR(1000) NULL,
        request_id VARCHAR(255) NULL,
        excerpt_hash CHAR(64) NULL,
        UNIQUE (message_id, number)
      )${end}`,
      'CREATE INDEX attempt_open ON attempt (verdict, epoch)',
      `CREATE TABLE attempt_excerpt (
        attempt_id BIGINT NOT NULL PRIMARY KEY,
        excerpt TEXT NOT NULL
      )${end}`,
      `CREATE TABLE audit_log (
        id ${id},
        at BIGINT NOT NULL,
        event VARCHAR(32) NOT NULL,
        outcome VARCHAR(20) NULL,
        entity VARCHAR(16) NULL,
        source_key VARCHAR(255) NULL,
        message_id BIGINT NULL,
        attempt_id BIGINT NULL,
        actor VARCHAR(255) NOT NULL,
        detail TEXT NOT NULL
      )${end}`,
      'CREATE INDEX audit_log_record ON audit_log (source_key, id)',
      'CREATE INDEX audit_log_at ON audit_log (at)',
      'CREATE INDEX audit_log_event ON audit_log (event, id)',
      `CREATE TABLE capture_cursor (
        name VARCHAR(64) NOT NULL PRIMARY KEY,
        changed_at VARCHAR(64) NULL,
        swept_at BIGINT NULL,
        mapping_fingerprint CHAR(64) NULL
      )${end}`,
      `CREATE TABLE unsettled (
        source_key VARCHAR(255) NOT NULL PRIMARY KEY,
        first_seen_at BIGINT NOT NULL,
        content_hash CHAR(64) NOT NULL,
        reason VARCHAR(1000) NOT NULL
      )${end}`,
      `CREATE TABLE lease (
        name VARCHAR(32) NOT NULL PRIMARY KEY,
        epoch BIGINT NOT NULL,
        holder VARCHAR(255) NULL,
        expires_at BIGINT NOT NULL,
        released_at BIGINT NULL
      )${end}`,
      `CREATE TABLE lane_pause (
        lane VARCHAR(16) NOT NULL,
        cause VARCHAR(16) NOT NULL,
        until_at BIGINT NULL,
        reason VARCHAR(1000) NOT NULL,
        actor VARCHAR(255) NOT NULL,
        since_at BIGINT NOT NULL,
        PRIMARY KEY (lane, cause)
      )${end}`,
      `CREATE TABLE wake_up (
        job VARCHAR(16) NOT NULL PRIMARY KEY,
        requested_at BIGINT NOT NULL,
        actor VARCHAR(255) NOT NULL
      )${end}`,
      `CREATE TABLE invoice (
        invoice_no VARCHAR(255) NOT NULL PRIMARY KEY,
        customer_code VARCHAR(255) NULL,
        amount BIGINT NOT NULL,
        due_date CHAR(10) NOT NULL,
        status VARCHAR(64) NOT NULL,
        first_listed_at BIGINT NOT NULL,
        last_listed_at BIGINT NOT NULL,
        unlisted_at BIGINT NULL
      )${end}`,
      `CREATE TABLE invoice_staging (
        pull_id BIGINT NOT NULL,
        invoice_no VARCHAR(255) NOT NULL,
        customer_code VARCHAR(255) NULL,
        amount BIGINT NOT NULL,
        due_date CHAR(10) NOT NULL,
        status VARCHAR(64) NOT NULL,
        PRIMARY KEY (pull_id, invoice_no)
      )${end}`,
      `CREATE TABLE invoice_pull (
        id ${id},
        filter_status VARCHAR(64) NOT NULL,
        outcome VARCHAR(16) NOT NULL,
        reason VARCHAR(1000) NULL,
        started_at BIGINT NOT NULL,
        ended_at BIGINT NULL,
        pages INT NOT NULL DEFAULT 0,
        listed INT NOT NULL DEFAULT 0,
        service_total INT NULL,
        added INT NOT NULL DEFAULT 0,
        changed INT NOT NULL DEFAULT 0,
        unlisted INT NOT NULL DEFAULT 0,
        malformed INT NOT NULL DEFAULT 0
      )${end}`,
    ];
    for (const statement of statements) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    const tables = [
      'invoice_pull',
      'invoice_staging',
      'invoice',
      'wake_up',
      'lane_pause',
      'lease',
      'unsettled',
      'capture_cursor',
      'audit_log',
      'attempt_excerpt',
      'attempt',
      'binding',
      'message_body',
      'outbox_message',
      'store_info',
    ];
    for (const table of tables) await runner.query(`DROP TABLE IF EXISTS ${table}`);
  }
}

/**
 * Byte by byte and with every trailing space: under `utf8mb4_bin` the keys `A` and `A ` are one. MariaDB and MySQL have
 * different names for it; very old servers have none.
 */
export async function exactCollation(runner: QueryRunner): Promise<string> {
  const rows: { name: string }[] = await runner.query(
    "SELECT collation_name AS name FROM information_schema.collations WHERE collation_name IN ('utf8mb4_nopad_bin', 'utf8mb4_0900_bin')",
  );
  return rows[0]?.name ?? 'utf8mb4_bin';
}
