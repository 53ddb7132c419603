import type { MigrationInterface, QueryRunner } from 'typeorm';
import { addMissingColumns } from './missing-columns.js';
import { noWayBack } from './no-way-back.js';

/**
 * Columns of `outbox_message`, NULL at first.
 * absences: how often look-ups found nothing of a create whose key the service keeps failing at.
 * confirmed_at: when a person let it go after a hold.
 */
const absenceColumns: Readonly<Record<string, string>> = {
  absences: 'INT NULL',
  confirmed_at: 'BIGINT NULL',
};

/** Lets a create that the service answers with one failure for ever come to a person. */
export class ExpandAbsences1795900031000 implements MigrationInterface {
  name = 'ExpandAbsences1795900031000';

  async up(runner: QueryRunner): Promise<void> {
    await addMissingColumns(runner, 'outbox_message', absenceColumns);
  }

  down = noWayBack;
}
