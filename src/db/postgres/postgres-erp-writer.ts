import type { Client } from 'pg';
import type { WriteBackSettings } from '../../config/sections/write-back.js';
import type { WritableErpDatabase, WriteStatement } from '../erp-database.js';
import { writeFailure } from '../failures.js';
import { graceMs, type ServerErp, writeBackAccount } from '../server.js';
import { PostgresConnection } from './connection.js';
import { postgresDialect } from './postgres-erp.js';
import { postgresFailures } from './postgres-failure.js';

/** One writer after the other: a DELETE does not wait for the row that another transaction is about to insert. */
const takeTurns: WriteStatement = { sql: "SELECT pg_advisory_xact_lock(hashtext('waybill write-back'))", values: [] };

/** An ERP on PostgreSQL, written with the write-back's own account and a connection of its own. */
export class PostgresErpWriter extends PostgresConnection implements WritableErpDatabase {
  readonly dialect = postgresDialect;
  readonly #timeZone: string;
  readonly #timeoutMs: number;

  constructor(erp: ServerErp, writeBack: WriteBackSettings) {
    super(writeBackAccount(erp, writeBack));
    this.#timeZone = erp.timeZone;
    this.#timeoutMs = writeBack.timeoutSeconds * 1000;
  }

  async transaction(
    statements: readonly WriteStatement[],
    what: string,
    mayCommit: () => Promise<void>,
  ): Promise<void> {
    await this.#write([takeTurns, ...statements], what, mayCommit);
  }

  rows(query: WriteStatement, what: string): Promise<(string | null)[][]> {
    return this.#write([query], what);
  }

  /** Runs all of these in one transaction. @returns the rows of the last one */
  #write(
    statements: readonly WriteStatement[],
    what: string,
    mayCommit?: () => Promise<void>,
  ): Promise<(string | null)[][]> {
    let startedAt = performance.now();
    const ask = (client: Client, { sql, values }: WriteStatement) => {
      startedAt = performance.now();
      return this.ask(client, sql, values, this.#timeoutMs + graceMs);
    };
    return this.run(async (connect) => {
      const client = await connect();
      await this.begin(client, 'ISOLATION LEVEL READ COMMITTED, READ WRITE', this.#timeoutMs, this.#timeZone);
      let rows: (string | null)[][] = [];
      for (const statement of statements) ({ rows } = await ask(client, statement));
      await mayCommit?.();
      await ask(client, { sql: 'COMMIT', values: [] });
      return rows;
    }).catch((error) => {
      const time = { ranMs: performance.now() - startedAt, limitMs: this.#timeoutMs };
      throw writeFailure(postgresFailures, this.withoutPassword(error), { what, place: this.identity(), time });
    });
  }
}
