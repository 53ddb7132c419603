import type { MigrationInterface, QueryRunner } from 'typeorm';
import { dialectOfSource } from '../../db/databases.js';
import { noWayBack } from './no-way-back.js';

/**
 * Column of `outbox_message`, NULL at first.
 * presented_as: fingerprint of how the key of a create was shown to the service (`presentationsOf`) when it was last claimed; null
 * where an earlier version sent it, or it was never claimed.
 */
export const presentedAsColumn: Readonly<Record<string, string>> = { presented_as: 'CHAR(16) NULL' };

/** A service that is shown a key in another way takes it for another key. */
export class ExpandPresentedAs1795920002000 implements MigrationInterface {
  name = 'ExpandPresentedAs1795920002000';

  async up(runner: QueryRunner): Promise<void> {
    const { columns } = await dialectOfSource(runner.connection).schemaWords(runner);
    const known = new Set((await runner.getTable('outbox_message'))?.columns.map(({ name }) => name));
    for (const [name, type] of Object.entries(presentedAsColumn))
      if (!known.has(name)) await runner.query(`ALTER TABLE outbox_message ADD COLUMN ${columns(`${name} ${type}`)}`);
  }

  down = noWayBack;
}
