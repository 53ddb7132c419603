import type { MigrationInterface, QueryRunner } from 'typeorm';
import { exactCollation } from './1700000000000-initial.js';

/** Events that the service pushed to us, what was refused at the door, and which invoices were read because of an event. */
export class Webhooks1700000060000 implements MigrationInterface {
  name = 'Webhooks1700000060000';

  async up(runner: QueryRunner): Promise<void> {
    const sqlite = runner.connection.options.type === 'better-sqlite3';
    const end = sqlite ? '' : ` ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=${await exactCollation(runner)}`;
    const statements = [
      // `about` is invoice or order; null: an event that is only kept.
      `CREATE TABLE webhook_event (
        event_id VARCHAR(255) NOT NULL PRIMARY KEY,
        type VARCHAR(255) NOT NULL,
        about VARCHAR(16) NULL,
        subject VARCHAR(255) NULL,
        state VARCHAR(16) NOT NULL,
        outcome VARCHAR(500) NULL,
        received_at BIGINT NOT NULL,
        handled_at BIGINT NULL,
        payload ${sqlite ? 'TEXT' : 'MEDIUMTEXT'} NULL
      )${end}`,
      'CREATE INDEX webhook_event_state ON webhook_event (state, received_at)',
      'CREATE INDEX webhook_event_received ON webhook_event (received_at)',
      `CREATE TABLE webhook_tally (
        name VARCHAR(32) NOT NULL PRIMARY KEY,
        number BIGINT NOT NULL,
        last_at BIGINT NOT NULL
      )${end}`,
    ];
    for (const statement of statements) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE webhook_tally');
    await runner.query('DROP TABLE webhook_event');
  }
}
