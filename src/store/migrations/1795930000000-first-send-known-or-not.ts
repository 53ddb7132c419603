import type { MigrationInterface, QueryRunner } from 'typeorm';
import { dialectOfSource } from '../../db/databases.js';
import { addMissingColumns } from './missing-columns.js';
import { noWayBack } from './no-way-back.js';

/**
 * Column of `outbox_message`.
 * was_sent: 1 if the bytes may have left. `first_sent_at` of such a message is NULL where that time is not known, or where its key
 * no longer counts.
 */
const wasSentColumn: Readonly<Record<string, string>> = { was_sent: 'TINYINT NOT NULL DEFAULT 0' };

const check = 'was_sent IN (0,1) AND (first_sent_at IS NULL OR (was_sent=1 AND first_sent_at>1))';

/**
 * Tells by a column which messages may have been sent, where the time 1 stood for an unknown one. No expansion: an earlier version
 * would still write that. Each step may run twice, since MySQL and MariaDB commit each statement that changes the schema.
 */
export class FirstSendKnownOrNot1795930000000 implements MigrationInterface {
  name = 'FirstSendKnownOrNot1795930000000';

  async up(runner: QueryRunner): Promise<void> {
    const { addCheck } = await dialectOfSource(runner.connection).schemaWords(runner);
    await addMissingColumns(runner, 'outbox_message', wasSentColumn);
    await runner.query('UPDATE outbox_message SET was_sent=1 WHERE first_sent_at IS NOT NULL');
    await runner.query('UPDATE outbox_message SET first_sent_at=NULL WHERE first_sent_at<=1');
    await addCheck('outbox_message', 'outbox_message_first_sent', check);
  }

  down = noWayBack;
}
