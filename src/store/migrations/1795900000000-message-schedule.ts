import type { MigrationInterface, QueryRunner } from 'typeorm';
import { dialectOfSource } from '../../db/databases.js';
import { noWayBack } from './no-way-back.js';

/**
 * Columns of `outbox_message`.
 * waits_for: 'scan' of a pending message that is not due before the scan that found it has ended, 'person' of a parked one that
 * nothing else moves. Null where `next_attempt_at` says when it is tried or looked up next, and of what has come to its end.
 * delivered_at: when the request that delivered it was answered, by the corrected clock; null where no request of ours did.
 */
export const scheduleColumns: Readonly<Record<string, string>> = {
  waits_for: 'VARCHAR(12) NULL',
  delivered_at: 'BIGINT NULL',
};

/** The name and condition of each constraint. */
const checks = {
  outbox_message_schedule: `
    (state='pending' AND next_attempt_at IS NOT NULL AND waits_for IS NULL)
    OR (state='pending' AND next_attempt_at IS NULL AND waits_for IS NOT NULL AND waits_for='scan')
    OR (state IN ('sending','in_doubt') AND next_attempt_at IS NOT NULL AND waits_for IS NULL)
    OR (state='parked' AND park_class='conflict' AND next_attempt_at IS NOT NULL AND waits_for IS NULL)
    OR (state='parked' AND next_attempt_at IS NULL AND waits_for IS NOT NULL AND waits_for='person')
    OR (state IN ('delivered','superseded','discarded') AND next_attempt_at IS NULL AND waits_for IS NULL)`,
  outbox_message_delivered: "(state='delivered' AND started_at IS NOT NULL)=(delivered_at IS NOT NULL)",
};

const index = 'outbox_message_due';
// One index finds what is due and what was delivered lately, so that a delivery writes no further one.
const indexed = ['state', 'entity', 'source', 'is_backlog', 'next_attempt_at', 'delivered_at', 'id'];

/** Times that stood for something else until here. A pending removal that waited for its scan had the second of them. */
const afterScan = 8_640_000_000_000_000;
const removalAfterScan = afterScan - 1;

/**
 * Gives each meaning that `next_attempt_at` had a column of its own. No expansion: an earlier version would still write
 * the other meanings. If each statement commits by itself, it goes on where an interrupted run has left off: run twice,
 * the UPDATE changes nothing.
 */
export class MessageSchedule1795900000000 implements MigrationInterface {
  name = 'MessageSchedule1795900000000';

  async up(runner: QueryRunner): Promise<void> {
    const { columns, nullability, addCheck } = await dialectOfSource(runner.connection).schemaWords(runner);
    const found = await runner.getTable('outbox_message');
    const known = new Set(found?.columns.map(({ name }) => name));
    const oldIndex = found?.indices.find(({ name }) => name === index);
    const isIndexed = oldIndex?.columnNames.includes('delivered_at') ?? false;
    // Without it, the UPDATE below would write each row of a large store to the index as well.
    if (oldIndex && !isIndexed) await runner.dropIndex('outbox_message', index);
    for (const [name, type] of Object.entries(scheduleColumns))
      if (!known.has(name)) await runner.query(`ALTER TABLE outbox_message ADD COLUMN ${columns(`${name} ${type}`)}`);
    await runner.query(`ALTER TABLE outbox_message ${nullability('next_attempt_at', 'BIGINT', 'NULL')}`);
    // MySQL sees what an earlier assignment has set.
    await runner.query(
      `UPDATE outbox_message SET
         delivered_at=CASE WHEN state='delivered' AND started_at IS NOT NULL THEN COALESCE(delivered_at, next_attempt_at) END,
         waits_for=CASE WHEN state='pending' AND COALESCE(next_attempt_at, ${afterScan})>=${removalAfterScan} THEN 'scan'
                        WHEN state='parked' AND NOT (COALESCE(park_class, '')='conflict' AND COALESCE(next_attempt_at, ${afterScan})<${removalAfterScan}) THEN 'person' END,
         next_attempt_at=CASE WHEN state IN ('sending','in_doubt') THEN next_attempt_at
                              WHEN next_attempt_at<${removalAfterScan} AND (state='pending' OR (state='parked' AND park_class='conflict'))
                              THEN next_attempt_at END`,
    );
    for (const [name, condition] of Object.entries(checks)) await addCheck('outbox_message', name, condition);
    if (!isIndexed) await runner.query(`CREATE INDEX ${index} ON outbox_message (${indexed.join(', ')})`);
  }

  down = noWayBack;
}
