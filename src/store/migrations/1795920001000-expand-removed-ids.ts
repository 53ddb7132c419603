import type { MigrationInterface, QueryRunner } from 'typeorm';
import { dialectOfSource } from '../../db/databases.js';
import { noWayBack } from './no-way-back.js';

/**
 * Ids of records that Waybill has removed at the service. `closed_binding` has the last one of each record; a record can be removed
 * several times.
 */
const removedIdTables: Readonly<Record<string, string>> = {
  removed_id: `
    entity VARCHAR(16) NOT NULL, service_id VARCHAR(255) NOT NULL, removed_at BIGINT NOT NULL,
    PRIMARY KEY (entity, service_id)`,
};

/** Remembers every removed record, because many services go on showing them. */
export class ExpandRemovedIds1795920001000 implements MigrationInterface {
  name = 'ExpandRemovedIds1795920001000';

  async up(runner: QueryRunner): Promise<void> {
    const { columns, end } = await dialectOfSource(runner.connection).schemaWords(runner);
    for (const [name, definition] of Object.entries(removedIdTables))
      if (!(await runner.hasTable(name))) await runner.query(`CREATE TABLE ${name} (${columns(definition)})${end}`);
    // MySQL and MariaDB commit each statement: an interrupted run may have left some of it.
    await runner.query(
      `INSERT INTO removed_id (entity, service_id, removed_at)
       SELECT c.entity, c.service_id, MAX(c.closed_at) FROM closed_binding c
        WHERE c.service_id<>'' AND NOT EXISTS
          (SELECT 1 FROM removed_id r WHERE r.entity=c.entity AND r.service_id=c.service_id)
        GROUP BY c.entity, c.service_id`,
    );
  }

  down = noWayBack;
}
