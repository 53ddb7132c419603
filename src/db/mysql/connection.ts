import { type Connection, createConnection, type RowDataPacket } from 'mysql2/promise';
import type { DatabasePlace } from '../../model/database-place.js';
import type { Secret } from '../../model/secret.js';
import { SingleConnection } from '../single-connection.js';
import { type MysqlSession, type PreparedSession, prepareSession } from './session.js';
import { mysqlTransport } from './transport.js';

const CONNECT_TIMEOUT_MS = 5_000;
/** An idle connection that doesn't answer by then is replaced by a new one. */
const PING_TIMEOUT_MS = 2_000;

/** The time after the server's own limit at which we give up on a statement: a server that is frozen can't keep it. */
export const GRACE_MS = 5_000;

interface MysqlAccount extends DatabasePlace {
  database: string;
  user?: string | undefined;
  password?: Secret | undefined;
}

/** A session on MySQL or MariaDB, for one task after the other. */
export abstract class MysqlConnection extends SingleConnection<Connection> {
  #prepared: PreparedSession | null = null;

  constructor(
    private readonly account: MysqlAccount,
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

  protected end(connection: Connection): Promise<unknown> {
    return connection.end();
  }

  protected destroy(connection: Connection): void {
    connection.destroy();
  }

  protected async open(): Promise<Connection> {
    const { database, user, password } = this.account;
    const connection = await createConnection({
      ...mysqlTransport(this.account),
      database,
      ...(user === undefined ? {} : { user }),
      ...(password === undefined ? {} : { password: password.reveal() }),
      charset: 'utf8mb4',
      connectTimeout: CONNECT_TIMEOUT_MS,
      // Values are taken as the server writes them.
      typeCast: false,
      // ErpError describes the failure; the driver would record the stack of every query in case it fails.
      trace: false,
      // None is prepared, and the driver would keep half a megabyte for a list of 16,000.
      maxPreparedStatements: 1,
    });
    // Without a listener, a connection that breaks while idle would end the process. The next task finds out.
    connection.on('error', () => {});
    let timeout = CONNECT_TIMEOUT_MS;
    const ask = async (sql: string) => {
      const [rows] = await connection.query<RowDataPacket[][]>({ sql, rowsAsArray: true, timeout });
      return Array.isArray(rows) ? rows : [];
    };
    try {
      this.#prepared = await prepareSession(ask, { ...this.session(), database });
      timeout = PING_TIMEOUT_MS;
      return connection;
    } catch (error) {
      connection.destroy();
      throw error;
    }
  }
}
