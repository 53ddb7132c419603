import type { MigrationInterface, QueryRunner } from 'typeorm';
import { dialectOfSource } from '../../db/databases.js';
import { noWayBack } from './no-way-back.js';

/** Sums of a comparison by day and currency. day: NULL of records that have none in the ERP. */
const daySumTables = (id: string): Readonly<Record<string, string>> => ({
  reconcile_day_sum: `
    id ${id}, run_id BIGINT NOT NULL, day CHAR(10) NULL, currency VARCHAR(16) NOT NULL, erp_records INT NOT NULL,
    erp_total VARCHAR(40) NOT NULL, service_records INT NOT NULL, service_total VARCHAR(40) NOT NULL,
    UNIQUE (run_id, day, currency)`,
});

const before = 'reconcile_sum';
const values = 'currency, erp_records, erp_total, service_records, service_total';

/**
 * Sums of records without a day have NULL for it, where '' stood in a primary key, which takes no NULL. No expansion: the earlier
 * table goes. Each step may run twice, since MySQL and MariaDB commit each statement that changes the schema.
 */
export class SumsWithoutADay1795940002000 implements MigrationInterface {
  name = 'SumsWithoutADay1795940002000';

  async up(runner: QueryRunner): Promise<void> {
    const { id, columns, end, addCheck } = await dialectOfSource(runner.connection).schemaWords(runner);
    const [[table, definition] = ['', '']] = Object.entries(daySumTables(id));
    if (!(await runner.hasTable(table))) await runner.query(`CREATE TABLE ${table} (${columns(definition)})${end}`);
    if (await runner.hasTable(before)) {
      await runner.query(`DELETE FROM ${table}`);
      await runner.query(
        `INSERT INTO ${table} (run_id, day, ${values}) SELECT run_id, NULLIF(day, ''), ${values} FROM ${before}`,
      );
      await runner.query(`DROP TABLE ${before}`);
    }
    await addCheck(table, `${table}_day`, "day IS NULL OR day<>''");
  }

  down = noWayBack;
}
