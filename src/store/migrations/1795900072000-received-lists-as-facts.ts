import type { MigrationInterface, QueryRunner } from 'typeorm';
import { noWayBack } from './no-way-back.js';
import { type FactColumn, sentencesToFacts } from './sentences-to-facts.js';

const receivedFacts: readonly FactColumn[] = [
  { table: 'invoice_malformed', sentences: 'reason', name: 'reason' },
  { table: 'invoice_staging', sentences: 'malformed', name: 'malformed' },
  { table: 'invoice_pull', sentences: 'reason', name: 'reason' },
  { table: 'webhook_event', sentences: 'outcome', name: 'outcome' },
  { table: 'write_back_row', sentences: 'refusal', name: 'refusal' },
  { table: 'write_back_target', sentences: 'failure', name: 'failure' },
];

/** Says as facts what is wrong with invoices and pulls, what came of webhooks, and why a write-back failed. */
export class ReceivedListsAsFacts1795900072000 implements MigrationInterface {
  name = 'ReceivedListsAsFacts1795900072000';

  async up(runner: QueryRunner): Promise<void> {
    for (const column of receivedFacts) await sentencesToFacts(runner, column);
  }

  down = noWayBack;
}
