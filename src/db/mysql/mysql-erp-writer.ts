import { IANAZone } from 'luxon';
import type { Connection } from 'mysql2/promise';
import type { WriteBackSettings } from '../../config/sections/write-back.js';
import type { WritableErpDatabase, WriteStatement } from '../erp-database.js';
import { writeFailure } from '../failures.js';
import { graceMs, inTime, type ServerErp, writeBackAccount } from '../server.js';
import { MysqlConnection } from './connection.js';
import { mysqlDialect } from './mysql-erp.js';
import { mysqlFailures } from './mysql-failure.js';

const idleLimitSeconds = 60;

/** An ERP on MySQL or MariaDB, written with the write-back's own account and a connection of its own. */
export class MysqlErpWriter extends MysqlConnection implements WritableErpDatabase {
  readonly dialect = mysqlDialect;
  readonly #limitMs: number;

  constructor(erp: ServerErp, writeBack: WriteBackSettings) {
    const { timeoutSeconds } = writeBack;
    const lockTimeout = Math.max(1, Math.ceil(timeoutSeconds));
    super(writeBackAccount(erp, writeBack), () => ({
      isolation: 'REPEATABLE-READ',
      readOnly: false,
      timeZone: { name: erp.timeZone, offsetMinutes: IANAZone.create(erp.timeZone).offset(Date.now()) },
      statementTimeout: timeoutSeconds,
      lockTimeout,
      // A process that is frozen in the middle of a transaction must not hold its row locks.
      idleTimeout: idleLimitSeconds,
      idleTransactionTimeout: idleLimitSeconds,
    }));
    this.#limitMs = timeoutSeconds * 1000 + graceMs;
  }

  transaction(statements: readonly WriteStatement[], what: string, mayCommit: () => Promise<void>): Promise<void> {
    return this.#write(what, async (connection) => {
      await this.#inTime(connection.query('START TRANSACTION'));
      for (const statement of statements) await this.#execute(connection, statement);
      await mayCommit();
      await this.#inTime(connection.query('COMMIT'));
    });
  }

  rows(query: WriteStatement, what: string): Promise<(string | null)[][]> {
    return this.#write(what, async (connection) => {
      // Not prepared: a prepared one yields numbers in a binary form.
      const text = { sql: query.sql, values: [...query.values], rowsAsArray: true };
      const [rows] = await this.#inTime(connection.query<never>(text));
      return (rows as unknown[][]).map((row) => row.map((value) => (value === null ? null : String(value))));
    });
  }

  async #write<T>(what: string, task: (connection: Connection) => Promise<T>): Promise<T> {
    try {
      return await this.run(async (connect) => task(await connect()));
    } catch (error) {
      throw writeFailure(mysqlFailures, this.withoutPassword(error), { what, place: this.identity() });
    }
  }

  async #execute(connection: Connection, { sql, values }: WriteStatement): Promise<void> {
    await this.#inTime(connection.execute({ sql, values: [...values] }));
  }

  /** A server that neither answers nor breaks the connection must not hold us up for ever. */
  #inTime<T>(work: Promise<T>): Promise<T> {
    return inTime(work, this.#limitMs, () => new Error(`no answer in ${Math.round(this.#limitMs / 1000)} s`));
  }
}
