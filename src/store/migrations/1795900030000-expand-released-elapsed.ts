import type { MigrationInterface, QueryRunner } from 'typeorm';
import { dialectOfSource } from '../../db/databases.js';
import { noWayBack } from './no-way-back.js';

/** Columns of `lease`. released_elapsed: when its holder let go, in the store's own time (`Elapsed`); NULL: nobody noted it. */
const releasedElapsedColumns: Readonly<Record<string, string>> = { released_elapsed: 'BIGINT NULL' };

/** Lets a successor measure how long a lease lay idle by time that surely passed, not by a clock that may be set. */
export class ExpandReleasedElapsed1795900030000 implements MigrationInterface {
  name = 'ExpandReleasedElapsed1795900030000';

  async up(runner: QueryRunner): Promise<void> {
    const { columns } = await dialectOfSource(runner.connection).schemaWords(runner);
    for (const [name, type] of Object.entries(releasedElapsedColumns))
      await runner.query(`ALTER TABLE lease ADD COLUMN ${columns(`${name} ${type}`)}`);
  }

  down = noWayBack;
}
