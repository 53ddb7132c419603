import type { MigrationInterface, QueryRunner } from 'typeorm';
import { dialectOfSource } from '../../db/databases.js';
import { noWayBack } from './no-way-back.js';

/**
 * Columns of `outbox_message`, all NULL at first.
 * ended_…: when the last request that was to write it had ended at the latest, by the clock on the wall and by the time since
 * the machine started. NULL: not known, as of what an earlier version sent.
 * absent_…: when a look-up had found nothing that counts; another one has to find nothing after it. NULL: none has.
 */
const lookUpColumns: Readonly<Record<string, string>> = {
  ended_at: 'BIGINT NULL',
  ended_boot_id: 'VARCHAR(64) NULL',
  ended_boot_ms: 'BIGINT NULL',
  absent_at: 'BIGINT NULL',
  absent_boot_id: 'VARCHAR(64) NULL',
  absent_boot_ms: 'BIGINT NULL',
};

/**
 * No expansion, though it only adds: a node of an earlier version would send a message again and leave `ended_at` as it was, and
 * the other nodes would take the message for one that has rested since.
 */
export class LookUps1795800002000 implements MigrationInterface {
  name = 'LookUps1795800002000';

  async up(runner: QueryRunner): Promise<void> {
    const { columns } = await dialectOfSource(runner.connection).schemaWords(runner);
    const known = await columnsOf(runner);
    // If each statement commits by itself, an interrupted run has left some of them.
    for (const [name, type] of Object.entries(lookUpColumns))
      if (!known.has(name)) await runner.query(`ALTER TABLE outbox_message ADD COLUMN ${columns(`${name} ${type}`)}`);
  }

  down = noWayBack;
}

async function columnsOf(runner: QueryRunner): Promise<Set<string>> {
  return new Set((await runner.getTable('outbox_message'))?.columns.map(({ name }) => name));
}
