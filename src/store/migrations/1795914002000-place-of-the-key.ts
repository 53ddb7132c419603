import type { MigrationInterface, QueryRunner } from 'typeorm';
import { dialectOfSource } from '../../db/databases.js';
import { addMissingColumns } from './missing-columns.js';
import { noWayBack } from './no-way-back.js';

/**
 * Columns of `outbox_message`.
 * key_in: where the key travels, 'header' or 'body', frozen with the bytes. NULL: the message was never claimed for sending.
 * `key_field` is the name of the field of a body, and NULL otherwise.
 */
const keyPlaceColumns: Readonly<Record<string, string>> = { key_in: 'VARCHAR(6) NULL' };

const check = `(key_in IS NULL AND key_field IS NULL)
    OR (key_in IS NOT NULL AND key_in='header' AND key_field IS NULL)
    OR (key_in IS NOT NULL AND key_in='body' AND key_field IS NOT NULL AND key_field<>'')`;

/**
 * Tells a key in a header from one in the body by a column, where a field without a name did. No expansion: an earlier version
 * would still write that. Each step may run twice, since MySQL and MariaDB commit each statement that changes the schema.
 */
export class PlaceOfTheKey1795914002000 implements MigrationInterface {
  name = 'PlaceOfTheKey1795914002000';

  async up(runner: QueryRunner): Promise<void> {
    const { addCheck } = await dialectOfSource(runner.connection).schemaWords(runner);
    await addMissingColumns(runner, 'outbox_message', keyPlaceColumns);
    // In this order: MySQL sees what an earlier assignment has set.
    await runner.query(
      `UPDATE outbox_message SET key_in=CASE WHEN key_field='' THEN 'header' ELSE 'body' END, key_field=NULLIF(key_field, '')
        WHERE key_field IS NOT NULL AND key_in IS NULL`,
    );
    await addCheck('outbox_message', 'outbox_message_key_in', check);
  }

  down = noWayBack;
}
