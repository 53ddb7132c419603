import type { MigrationInterface, QueryRunner } from 'typeorm';
import { dialectOfSource } from '../../db/databases.js';
import { noWayBack } from './no-way-back.js';

/**
 * Columns of `outbox_message`, NULL at first.
 * absences: how often look-ups found nothing of a create whose key the service keeps failing at.
 * confirmed_at: when a person let it go after a hold.
 */
export const absenceColumns: Readonly<Record<string, string>> = {
  absences: 'INT NULL',
  confirmed_at: 'BIGINT NULL',
};

/** Lets a create that the service answers with one failure for ever come to a person. */
export class ExpandAbsences1795900031000 implements MigrationInterface {
  name = 'ExpandAbsences1795900031000';

  async up(runner: QueryRunner): Promise<void> {
    const { columns } = await dialectOfSource(runner.connection).schemaWords(runner);
    const known = new Set((await runner.getTable('outbox_message'))?.columns.map(({ name }) => name));
    // If each statement commits by itself, an interrupted run has left some of them.
    for (const [name, type] of Object.entries(absenceColumns))
      if (!known.has(name)) await runner.query(`ALTER TABLE outbox_message ADD COLUMN ${columns(`${name} ${type}`)}`);
  }

  down = noWayBack;
}
