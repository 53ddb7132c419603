import type { MigrationInterface, QueryRunner } from 'typeorm';
import { noWayBack } from './no-way-back.js';
import { type FactColumn, sentencesToFacts } from './sentences-to-facts.js';

/** Columns of sentences that become facts. */
const reasonFacts: readonly FactColumn[] = [
  { table: 'outbox_message', sentences: 'reason', name: 'reason' },
  { table: 'outbox_message', sentences: 'flag', name: 'flag' },
  { table: 'attempt', sentences: 'reason', name: 'reason' },
  { table: 'lane_pause', sentences: 'reason', name: 'reason' },
  { table: 'binding', sentences: 'read_flag', name: 'read_flag' },
];

/** Says as a fact why a message waits or is flagged, what came of an attempt, and why a lane is paused. */
export class ReasonsAsFacts1795900050000 implements MigrationInterface {
  name = 'ReasonsAsFacts1795900050000';

  async up(runner: QueryRunner): Promise<void> {
    for (const column of reasonFacts) await sentencesToFacts(runner, column);
  }

  down = noWayBack;
}
