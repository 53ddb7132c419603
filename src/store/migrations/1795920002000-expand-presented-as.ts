import type { MigrationInterface, QueryRunner } from 'typeorm';
import { addMissingColumns } from './missing-columns.js';
import { noWayBack } from './no-way-back.js';

/**
 * Column of `outbox_message`, NULL at first.
 * presented_as: fingerprint of how the key of a create was shown to the service (`presentationsOf`) when it was last claimed; null
 * where an earlier version sent it, or it was never claimed.
 */
const presentedAsColumn: Readonly<Record<string, string>> = { presented_as: 'CHAR(16) NULL' };

/** A service that is shown a key in another way takes it for another key. */
export class ExpandPresentedAs1795920002000 implements MigrationInterface {
  name = 'ExpandPresentedAs1795920002000';

  async up(runner: QueryRunner): Promise<void> {
    await addMissingColumns(runner, 'outbox_message', presentedAsColumn);
  }

  down = noWayBack;
}
