import { type Connection, createConnection } from 'mysql2/promise';
import type { Secret } from '../../model/secret.js';
import { connectTimeoutMs, pingTimeoutMs, type ServerAccount } from '../server.js';
import { SingleConnection } from '../single-connection.js';
import { mysqlOptions } from './options.js';
import { askOn, type MysqlSession, type PreparedSession, prepareSession } from './session.js';

/** A session on MySQL or MariaDB, for one task after the other. */
export abstract class MysqlConnection extends SingleConnection<Connection> {
  #prepared: PreparedSession | null = null;

  constructor(
    private readonly account: ServerAccount,
    private readonly session: () => Omit<MysqlSession, 'database'>,
  ) {
    super();
  }

  /** The modes in which the server would run a statement of another program. */
  protected get inheritedModes(): readonly string[] {
    return this.#prepared?.inheritedModes ?? [];
  }

  /** The database, without the account. */
  identity(): string {
    const { host, port, database } = this.account;
    return `mysql://${host}:${port}/${database}`;
  }

  protected get password(): Secret | undefined {
    return this.account.password;
  }

  protected ping(): Promise<void> {
    return this.#prepared?.check() ?? Promise.resolve();
  }

  protected async end(connection: Connection): Promise<void> {
    await connection.end();
    connection.destroy();
  }

  protected destroy(connection: Connection): void {
    connection.destroy();
  }

  protected async open(): Promise<Connection> {
    const connection = await createConnection({
      ...mysqlOptions(this.account),
      connectTimeout: connectTimeoutMs,
      // Values are taken as the server writes them.
      typeCast: false,
    });
    // Without a listener, a connection that breaks while idle would end the process. The next task finds out.
    connection.on('error', () => {});
    let timeoutMs = connectTimeoutMs;
    try {
      const ask = askOn(connection, () => timeoutMs);
      this.#prepared = await prepareSession(ask, { ...this.session(), database: this.account.database });
      timeoutMs = pingTimeoutMs;
      return connection;
    } catch (error) {
      connection.destroy();
      throw error;
    }
  }
}
