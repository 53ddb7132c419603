import type { MigrationInterface, QueryRunner } from 'typeorm';
import { dialectOfSource } from '../../db/databases.js';
import { noWayBack } from './no-way-back.js';

/** The name and condition of each constraint. */
const checks = {
  closed_binding_service_id: "service_id IS NULL OR service_id<>''",
  closed_binding_revision: 'revision IS NULL OR revision>0',
};

/**
 * `closed_binding` knows no id of the service for a key that a record has left, and no revision of a removed record: NULL says so,
 * where '' and 0 did. No expansion: an earlier version would still write those. Each step may run twice, since MySQL and MariaDB
 * commit each statement that changes the schema.
 */
export class ClosedBindingsKnowOrNot1795940000000 implements MigrationInterface {
  name = 'ClosedBindingsKnowOrNot1795940000000';

  async up(runner: QueryRunner): Promise<void> {
    const { nullability, addCheck } = await dialectOfSource(runner.connection).schemaWords(runner);
    await runner.query(`ALTER TABLE closed_binding ${nullability('service_id', 'VARCHAR(255)', 'NULL')}`);
    await runner.query(`ALTER TABLE closed_binding ${nullability('revision', 'INT', 'NULL')}`);
    await runner.query("UPDATE closed_binding SET service_id=NULL WHERE service_id=''");
    await runner.query('UPDATE closed_binding SET revision=NULL WHERE revision<=0');
    for (const [name, condition] of Object.entries(checks)) await addCheck('closed_binding', name, condition);
  }

  down = noWayBack;
}
