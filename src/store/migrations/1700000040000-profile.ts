import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Where the key of a message travels, frozen with its bytes: '' is a header, a name is that field of the body. */
export class Profile1700000040000 implements MigrationInterface {
  name = 'Profile1700000040000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE outbox_message ADD COLUMN key_field VARCHAR(64) NULL');
    // Until now every key travelled in a header.
    await runner.query("UPDATE outbox_message SET key_field='' WHERE first_sent_at IS NOT NULL");
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE outbox_message DROP COLUMN key_field');
  }
}
