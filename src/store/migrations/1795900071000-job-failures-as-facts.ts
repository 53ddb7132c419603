import type { MigrationInterface, QueryRunner } from 'typeorm';
import { noWayBack } from './no-way-back.js';
import { type FactColumn, sentencesToFacts } from './sentences-to-facts.js';

const jobFailureFacts: readonly FactColumn[] = [{ table: 'job_run', sentences: 'failure', name: 'failure' }];

/** Says as a fact why the last runs of a job failed. */
export class JobFailuresAsFacts1795900071000 implements MigrationInterface {
  name = 'JobFailuresAsFacts1795900071000';

  async up(runner: QueryRunner): Promise<void> {
    for (const column of jobFailureFacts) await sentencesToFacts(runner, column);
  }

  down = noWayBack;
}
