import type { MigrationInterface, QueryRunner } from 'typeorm';
import { noWayBack } from './no-way-back.js';
import { type FactColumn, sentencesToFacts } from './sentences-to-facts.js';

const alertFacts: readonly FactColumn[] = [{ table: 'alert', sentences: 'message', name: 'message' }];

/** Says as a fact what an alert is about. Its data takes the place of the details. */
export class AlertsAsFacts1795900070000 implements MigrationInterface {
  name = 'AlertsAsFacts1795900070000';

  async up(runner: QueryRunner): Promise<void> {
    for (const column of alertFacts) await sentencesToFacts(runner, column);
    // MySQL commits each statement: an earlier run may have come this far.
    if ((await runner.getTable('alert'))?.findColumnByName('details'))
      await runner.query('ALTER TABLE alert DROP COLUMN details');
  }

  down = noWayBack;
}
