import { type Connection, createConnection } from 'mysql2/promise';
import type { WriteBackSettings } from '../../config/sections/write-back.js';
import type { WriteBackChange, WriteBackKind } from '../../model/write-back.js';
import type { MysqlSettings } from '../dialects/mysql-failure.js';
import { OneAtATime } from '../one-at-a-time.js';
import { type ErpWriter, WriteBackError, type WriteBackErrorKind } from './erp-writer.js';
import { keysStatement, type PreparedText, writeBackStatements } from './write-back-statements.js';

const printed = '`waybill erp side-tables` prints what is needed';

/** What a person does about a failure that stops a whole target, by the code of the driver. */
const targetAdvice: Record<string, string> = {
  ER_TABLEACCESS_DENIED_ERROR: `Grant it to the account of writeBack; ${printed}`,
  ER_COLUMNACCESS_DENIED_ERROR: `Grant it to the account of writeBack; ${printed}`,
  ER_SPECIFIC_ACCESS_DENIED_ERROR: `Grant it to the account of writeBack; ${printed}`,
  ER_PROCACCESS_DENIED_ERROR: 'Grant it to the account of writeBack',
  ER_DBACCESS_DENIED_ERROR: `The account of writeBack may do nothing in writeBack.database; ${printed}`,
  ER_ACCESS_DENIED_ERROR: 'Check writeBack.user and its password',
  ER_BAD_DB_ERROR: 'Check writeBack.database',
  ER_NO_SUCH_TABLE: `Make the table; ${printed}`,
  ER_BAD_FIELD_ERROR: `Add the column, or make the table anew; ${printed}`,
  ER_PARSE_ERROR: 'Correct the statement under writeBack',
};

const laterCodes = new Set([
  'ER_LOCK_WAIT_TIMEOUT',
  'ER_LOCK_DEADLOCK',
  'ER_CHECKREAD',
  'ER_QUERY_INTERRUPTED',
  'ER_QUERY_TIMEOUT',
  'ER_CON_COUNT_ERROR',
  'ER_OPTION_PREVENTS_STATEMENT',
  'ER_SERVER_SHUTDOWN',
]);
/** A value that its column does not take, such as one that an ENUM does not name. Servers give them no class of their own. */
const valueErrors = new Set([1265, 1366]);
/** MariaDB's own: max_statement_time was exceeded. */
const statementTimeout = 1969;

/** Says what a failure of MySQL or MariaDB means for the write-back. Pure. */
export function mysqlWriteFailure(cause: unknown, what: string, place: string): WriteBackError {
  const {
    errno,
    code = String(errno ?? ''),
    sqlState = '',
    message = String(cause),
  } = cause as { errno?: number; code?: string; sqlState?: string; message?: string };
  const kind = kindOf(code, errno, sqlState);
  const advice = kind === 'target' ? (targetAdvice[code] ?? 'Correct what it names') : '';
  const words = message === '' ? code : message;
  return new WriteBackError(kind, `Could not write ${what} back into ${place}: ${words}.${advice && ` ${advice}.`}`, {
    cause,
  });
}

function kindOf(code: string, errno: number | undefined, sqlState: string): WriteBackErrorKind {
  if (code in targetAdvice) return 'target';
  if (laterCodes.has(code) || errno === statementTimeout) return 'unreachable';
  if (errno !== undefined && valueErrors.has(errno)) return 'row';
  // 22: data, 23: constraints, 45: what a trigger of the ERP raises.
  if (/^(22|23|45)/.test(sqlState) || code === 'ER_CONSTRAINT_FAILED' || errno === 4025) return 'row';
  // Whatever the server refuses without a class of its own is about the statement; without a number there was no server.
  return errno !== undefined && /^ER_|^\d+$/.test(code) ? 'target' : 'unreachable';
}

const connectTimeoutMs = 5_000;
/** How much later than the server we give up on a statement: a server that is frozen can't keep its own limit. */
const graceMs = 5_000;

/** Writes into an ERP on MySQL or MariaDB, with the write-back's own account and a connection of its own. */
export class MysqlErpWriter implements ErpWriter {
  readonly #erp: MysqlSettings;
  readonly #settings: WriteBackSettings;
  readonly #wallTime: () => string;
  readonly #queue = new OneAtATime();
  #connection: Connection | null = null;

  /** @param wallTime the time now, as the ERP writes it */
  constructor(erp: MysqlSettings, settings: WriteBackSettings, wallTime: () => string) {
    this.#erp = erp;
    this.#settings = settings;
    this.#wallTime = wallTime;
  }

  write(kind: WriteBackKind, changes: readonly WriteBackChange[]): Promise<void> {
    return this.#queue.run(async () => {
      const statements = writeBackStatements(kind, this.#settings[kind], 'mysql', changes, this.#wallTime());
      try {
        const connection = await this.#connect();
        await this.#inTime(connection.query('START TRANSACTION'));
        for (const statement of statements) await this.#execute(connection, statement);
        await this.#inTime(connection.query('COMMIT'));
      } catch (error) {
        // Whatever is open on it goes with it; nobody inherits half a transaction.
        this.#drop();
        throw mysqlWriteFailure(error, kind, this.identity());
      }
    });
  }

  keysAfter(kind: WriteBackKind, after: string, limit: number): Promise<string[]> {
    return this.#queue.run(async () => {
      const { sql, values } = keysStatement(kind, this.#settings[kind], 'mysql', after, limit);
      try {
        const connection = await this.#connect();
        const [rows] = await this.#inTime(connection.execute(sql, values));
        return (rows as Record<string, string>[]).map((row) => Object.values(row)[0] as string);
      } catch (error) {
        this.#drop();
        throw mysqlWriteFailure(error, kind, this.identity());
      }
    });
  }

  identity(): string {
    const { host, port, database } = placeOf(this.#erp, this.#settings);
    return `mysql://${host}:${port}/${database}`;
  }

  close(): Promise<void> {
    return this.#queue.run(async () => {
      const connection = this.#connection;
      this.#connection = null;
      await connection?.end().catch(() => connection.destroy());
    });
  }

  async #execute(connection: Connection, { sql, values }: PreparedText): Promise<void> {
    await this.#inTime(connection.execute(sql, values));
  }

  async #connect(): Promise<Connection> {
    if (this.#connection) {
      try {
        await this.#inTime(this.#connection.ping());
        return this.#connection;
      } catch {
        this.#drop();
      }
    }
    const { user, password, timeoutSeconds } = this.#settings;
    const connection = await createConnection({
      ...placeOf(this.#erp, this.#settings),
      ...(user === undefined ? {} : { user }),
      ...(password === undefined ? {} : { password: password.reveal() }),
      charset: 'utf8mb4',
      connectTimeout: connectTimeoutMs,
      dateStrings: true,
    });
    // Without a listener, a connection that breaks while idle would end the process.
    connection.on('error', () => {});
    this.#connection = connection;
    const seconds = Math.max(1, Math.ceil(timeoutSeconds));
    const [rows] = await this.#inTime(connection.query('SELECT VERSION() AS version'));
    const isMariaDb = String((rows as { version: string }[])[0]?.version).includes('MariaDB');
    const session = [
      // A text that does not fit is refused and said, not cut.
      "sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'",
      `innodb_lock_wait_timeout = ${seconds}`,
      `lock_wait_timeout = ${seconds}`,
      ...(isMariaDb ? [`max_statement_time = ${timeoutSeconds}`] : []),
    ];
    await this.#inTime(connection.query(`SET SESSION ${session.join(', ')}`));
    return connection;
  }

  /** A server that neither answers nor breaks the connection must not hold us up for ever. */
  async #inTime<T>(work: Promise<T>): Promise<T> {
    const limitMs = this.#settings.timeoutSeconds * 1000 + graceMs;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`no answer in ${Math.round(limitMs / 1000)} s`)), limitMs);
    });
    try {
      return await Promise.race([work, late]);
    } finally {
      clearTimeout(timer);
      // When it was late, its own end comes with the connection's.
      work.catch(() => undefined);
    }
  }

  #drop(): void {
    this.#connection?.destroy();
    this.#connection = null;
  }
}

function placeOf(erp: MysqlSettings, settings: WriteBackSettings) {
  return {
    host: settings.host ?? erp.host,
    port: settings.port ?? erp.port,
    database: settings.database ?? erp.database,
  };
}
