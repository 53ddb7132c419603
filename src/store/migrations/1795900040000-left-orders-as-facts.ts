import type { MigrationInterface, QueryRunner } from 'typeorm';
import { noWayBack } from './no-way-back.js';
import { type FactColumn, sentencesToFacts } from './sentences-to-facts.js';

/** Columns of sentences that become facts. */
const leftOrderFacts: readonly FactColumn[] = [{ table: 'left_order', sentences: 'reason', name: 'reason' }];

/** Says as a fact why an order that the service has is not pending any more. */
export class LeftOrdersAsFacts1795900040000 implements MigrationInterface {
  name = 'LeftOrdersAsFacts1795900040000';

  async up(runner: QueryRunner): Promise<void> {
    for (const column of leftOrderFacts) await sentencesToFacts(runner, column);
  }

  down = noWayBack;
}
