import type { MigrationInterface, QueryRunner } from 'typeorm';
import { dialectOfSource } from '../../db/databases.js';
import { noWayBack } from './no-way-back.js';

/**
 * Columns of `binding`, both NULL at first.
 * said_by: who said that the record is at the service under this id, while the service has not acknowledged it since.
 * said_check: the result of asking the service at that moment.
 */
const personsWordColumns: Readonly<Record<string, string>> = {
  said_by: 'VARCHAR(255) NULL',
  said_check: 'VARCHAR(8) NULL',
};

/** Questions about records at the service, from processes that may not talk to it. answer: the outcome as JSON. */
const personsWordTables = (id: string): Readonly<Record<string, string>> => ({
  service_question: `
    id ${id}, message_id BIGINT NOT NULL, entity VARCHAR(16) NOT NULL, service_id VARCHAR(255) NOT NULL,
    asked_at BIGINT NOT NULL, answer TEXT NULL`,
});

/** Tells a person's word that a record is at the service from the service's own acknowledgement. */
export class ExpandPersonsWord1795800003000 implements MigrationInterface {
  name = 'ExpandPersonsWord1795800003000';

  async up(runner: QueryRunner): Promise<void> {
    const { id, columns, end } = await dialectOfSource(runner.connection).schemaWords(runner);
    const known = new Set((await runner.getTable('binding'))?.columns.map(({ name }) => name));
    // MySQL and MariaDB commit each statement: an interrupted run may have left some of it.
    for (const [name, type] of Object.entries(personsWordColumns))
      if (!known.has(name)) await runner.query(`ALTER TABLE binding ADD COLUMN ${columns(`${name} ${type}`)}`);
    for (const [name, definition] of Object.entries(personsWordTables(id)))
      if (!(await runner.hasTable(name))) await runner.query(`CREATE TABLE ${name} (${columns(definition)})${end}`);
  }

  down = noWayBack;
}
