import type { MigrationInterface, QueryRunner } from 'typeorm';
import { dialectOfSource } from '../../db/databases.js';
import { noWayBack } from './no-way-back.js';

/** The name and condition of each constraint. The lead of a cluster ends with the lease of the node that has it. */
const checks = {
  lease_end: 'expires_at IS NULL OR expires_at>0',
  lease_held: "holder IS NULL OR expires_at IS NOT NULL OR name='leader'",
};

/**
 * A lease that nobody has ends never, and NULL says so, where 0 did. No expansion: an earlier version would still write 0. Each
 * step may run twice, since MySQL and MariaDB commit each statement that changes the schema.
 */
export class FreeLeasesHaveNoEnd1795914000000 implements MigrationInterface {
  name = 'FreeLeasesHaveNoEnd1795914000000';

  async up(runner: QueryRunner): Promise<void> {
    const { nullability, addCheck } = await dialectOfSource(runner.connection).schemaWords(runner);
    await runner.query(`ALTER TABLE lease ${nullability('expires_at', 'BIGINT', 'NULL')}`);
    await runner.query('UPDATE lease SET expires_at=NULL WHERE expires_at=0');
    for (const [name, condition] of Object.entries(checks)) await addCheck('lease', name, condition);
  }

  down = noWayBack;
}
