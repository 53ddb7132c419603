import { type Connection, createConnection } from 'mysql2/promise';
import type { DatabasePlace } from '../../model/database-place.js';
import { mysqlTransport } from '../../model/mysql-transport.js';
import type { Secret } from '../../model/secret.js';
import { SingleConnection } from './single-connection.js';

const CONNECT_TIMEOUT_MS = 5_000;
/** An idle connection that doesn't answer by then is replaced by a new one. */
const PING_TIMEOUT_MS = 2_000;

/** How much later than the server we give up on a statement: a server that is frozen can't keep its own limit. */
export const GRACE_MS = 5_000;

interface MysqlAccount extends DatabasePlace {
  database: string;
  user?: string | undefined;
  password?: Secret | undefined;
}

/** What a server says of itself when a session begins. */
export interface MysqlServer {
  isMariaDb: boolean;
  sqlModes: string[];
}

/** A session on MySQL or MariaDB, for one task after the other. */
export abstract class MysqlConnection extends SingleConnection<Connection> {
  /** @param session the statements that prepare a new connection */
  constructor(
    private readonly account: MysqlAccount,
    private readonly session: (server: MysqlServer) => string[],
  ) {
    super();
  }

  /** The database, without the account. */
  identity(): string {
    const { host, port, database } = this.account;
    return `mysql://${host}:${port}/${database}`;
  }

  protected get password(): Secret | undefined {
    return this.account.password;
  }

  protected ping(connection: Connection): Promise<unknown> {
    return connection.query({ sql: 'DO 1', timeout: PING_TIMEOUT_MS });
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
      // What failed is said by ErpError; the driver would take down the stack of every query, in case that it fails.
      trace: false,
      // None is prepared, and the driver would keep half a megabyte for a list of 16,000.
      maxPreparedStatements: 1,
    });
    // Without a listener, a connection that breaks while idle would end the process. The next task finds out.
    connection.on('error', () => {});
    try {
      const timeout = CONNECT_TIMEOUT_MS;
      const [rows] = await connection.query<never>({ sql: 'SELECT VERSION(), @@sql_mode', rowsAsArray: true, timeout });
      const [version = '', modes = ''] = (rows as Buffer[][])[0]?.map(String) ?? [];
      const server = { isMariaDb: version.includes('MariaDB'), sqlModes: modes.split(',') };
      for (const sql of this.session(server)) await connection.query({ sql, timeout });
      return connection;
    } catch (error) {
      connection.destroy();
      throw error;
    }
  }
}
