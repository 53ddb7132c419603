import type { MigrationInterface, QueryRunner } from 'typeorm';
import { noWayBack } from './no-way-back.js';
import { type FactColumn, sentencesToFacts } from './sentences-to-facts.js';

const comparisonFacts: readonly FactColumn[] = [
  { table: 'reconciliation', sentences: 'reason', name: 'reason' },
  { table: 'reconcile_finding', sentences: 'reason', name: 'reason' },
];

/** Says as facts why a comparison stopped, and what it found of a record. */
export class ComparisonsAsFacts1795900073000 implements MigrationInterface {
  name = 'ComparisonsAsFacts1795900073000';

  async up(runner: QueryRunner): Promise<void> {
    for (const column of comparisonFacts) await sentencesToFacts(runner, column);
  }

  down = noWayBack;
}
