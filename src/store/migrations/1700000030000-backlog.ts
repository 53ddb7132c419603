import type { MigrationInterface, QueryRunner } from 'typeorm';

const due = 'outbox_message_due';

/** Whether a message is news, or one of the many that a resync or a change of the mapping brings: they go after what is new. */
export class Backlog1700000030000 implements MigrationInterface {
  name = 'Backlog1700000030000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE outbox_message ADD COLUMN is_backlog TINYINT NOT NULL DEFAULT 0');
    // What is new is found without reading past a hundred thousand messages that are not.
    await replaceIndex(runner, 'state, entity, is_backlog, next_attempt_at, id');
  }

  async down(runner: QueryRunner): Promise<void> {
    await replaceIndex(runner, 'state, entity, next_attempt_at, id');
    await runner.query('ALTER TABLE outbox_message DROP COLUMN is_backlog');
  }
}

async function replaceIndex(runner: QueryRunner, columns: string): Promise<void> {
  const sqlite = runner.connection.options.type === 'better-sqlite3';
  await runner.query(sqlite ? `DROP INDEX ${due}` : `DROP INDEX ${due} ON outbox_message`);
  await runner.query(`CREATE INDEX ${due} ON outbox_message (${columns})`);
}
