import type { MigrationInterface, QueryRunner } from 'typeorm';
import { dialectOfSource } from '../../db/databases.js';
import { addMissingColumns } from './missing-columns.js';
import { noWayBack } from './no-way-back.js';

/**
 * Column of the tables of invoice lists.
 * list_kind: 'all' for a list of the invoices of all customers, 'customer' for one of a single customer, 'own' for what an
 * invoice's own read says. A key has no NULL: list_customer and list_state are empty where a list of this kind has none.
 */
const listKindColumn: Readonly<Record<string, string>> = { list_kind: 'VARCHAR(8) NULL' };

const isOneCustomers = "(list_kind='customer')=(list_customer<>'')";
const isOwnRead = "(list_kind='own')=(list_state='')";

/** Each table with the condition that its kind and its key agree. */
export const listTables: Readonly<Record<string, string>> = {
  invoice_group: `list_kind IS NOT NULL AND list_kind IN ('all','customer') AND ${isOneCustomers}`,
  invoice_staging: `list_kind IS NOT NULL AND list_kind IN ('all','customer','own') AND ${isOneCustomers} AND ${isOwnRead}`,
  invoice_malformed: `list_kind IS NOT NULL AND list_kind IN ('all','customer') AND ${isOneCustomers} AND list_state<>''`,
};

/**
 * Says by a column which list a row stands on, where an empty customer and an empty state did. No expansion: an earlier version
 * would not write the column. Each step may run twice, since MySQL and MariaDB commit each statement that changes the schema.
 */
export class ListsByKind1795940001000 implements MigrationInterface {
  name = 'ListsByKind1795940001000';

  async up(runner: QueryRunner): Promise<void> {
    const { addCheck } = await dialectOfSource(runner.connection).schemaWords(runner);
    for (const [table, condition] of Object.entries(listTables)) {
      await addMissingColumns(runner, table, listKindColumn);
      const own = table === 'invoice_group' ? '' : "WHEN list_state='' THEN 'own'";
      await runner.query(
        `UPDATE ${table} SET list_kind=CASE ${own} WHEN list_customer='' THEN 'all' ELSE 'customer' END WHERE list_kind IS NULL`,
      );
      await addCheck(table, `${table}_kind`, condition);
    }
  }

  down = noWayBack;
}
