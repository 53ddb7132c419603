import mysql from 'mysql2';
import { type Connection, createConnection, type FieldPacket } from 'mysql2/promise';
import { bytesAsText, type ErpColumn, type ErpDatabase, type ErpResult, type ErpSnapshot } from '../erp-database.js';
import { ErpError } from '../erp-error.js';
import { OneAtATime } from '../one-at-a-time.js';
import { type ColumnKind, joinSql, rawSql, type Sql, type SqlValue, sql } from '../sql.js';
import { identityOf, type MysqlSettings, mysqlFailure } from './mysql-failure.js';

const { Types } = mysql;
const CONNECT_TIMEOUT_MS = 5_000;
/** How much later than the server we give up on a statement: a server that is frozen can't keep its own limit. */
const GRACE_MS = 5_000;
/** An idle connection that doesn't answer by then is replaced by a new one. */
const PING_TIMEOUT_MS = 2_000;
/** Modes under which escaped texts aren't safe, or dates that the ERP holds are errors. */
const UNWANTED_MODES = new Set(['NO_BACKSLASH_ESCAPES', 'NO_ZERO_DATE', 'NO_ZERO_IN_DATE', 'TRADITIONAL']);

/** An ERP on MySQL or MariaDB, read through one connection that may only read. */
export class MysqlErp implements ErpDatabase {
  readonly #queue = new OneAtATime();
  #connection: Connection | null = null;

  constructor(readonly settings: MysqlSettings) {}

  snapshot<T>(read: (snapshot: ErpSnapshot) => Promise<T>): Promise<T> {
    return this.#queue.run(async () => {
      const connection = await this.#connect();
      const snapshot = new MysqlSnapshot(connection, this.settings);
      try {
        await snapshot.run('START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY', 'begin a snapshot');
        const result = await read(snapshot);
        await snapshot.run('COMMIT', 'end a snapshot');
        return result;
      } catch (error) {
        // Whatever the connection is in the middle of, nobody else is to inherit it.
        this.#drop();
        throw error;
      }
    });
  }

  async #connect(): Promise<Connection> {
    const idle = this.#connection;
    if (idle !== null) {
      try {
        await idle.query({ sql: 'DO 1', timeout: PING_TIMEOUT_MS });
        return idle;
      } catch {
        // The server was restarted, or has closed an idle connection.
        this.#drop();
      }
    }
    try {
      const connection = await openConnection(this.settings);
      this.#connection = connection;
      await prepareSession(connection, this.settings.queryTimeoutSeconds);
      return connection;
    } catch (error) {
      this.#drop();
      throw mysqlFailure(error, 'connect', this.settings, 'unreachable');
    }
  }

  #drop(): void {
    this.#connection?.destroy();
    this.#connection = null;
  }

  quoteIdentifier(name: string): string {
    return `\`${name.replaceAll('`', '``')}\``;
  }

  /** MariaDB reads no index for `(a, b) IN (…)`, but does for the same as an OR. */
  tupleIn(columns: readonly Sql[], tuples: readonly (readonly SqlValue[])[]): Sql {
    if (columns.length > 1) {
      const same = tuples.map((tuple) => {
        const parts = columns.map((column, index) => sql`${column} = ${tuple[index] ?? { text: '', kind: 'text' }}`);
        return sql`(${joinSql(parts, ' AND ')})`;
      });
      return sql`(${joinSql(same, ' OR ')})`;
    }
    const values = tuples.flatMap((tuple) => tuple.map((value) => sql`${value}`));
    return sql`${joinSql(columns, ', ')} IN (${joinSql(values, ', ')})`;
  }

  identity(): string {
    return identityOf(this.settings);
  }

  close(): Promise<void> {
    return this.#queue.run(async () => {
      const connection = this.#connection;
      this.#connection = null;
      await connection?.end().catch(() => connection.destroy());
    });
  }
}

async function openConnection({ host, port, user, password, database }: MysqlSettings): Promise<Connection> {
  const connection = await createConnection({
    host,
    port,
    user,
    database,
    ...(password === undefined ? {} : { password: password.reveal() }),
    charset: 'utf8mb4',
    connectTimeout: CONNECT_TIMEOUT_MS,
    // Values are taken as the server writes them, so these only matter if somebody turns typeCast on.
    typeCast: false,
    dateStrings: true,
    supportBigNumbers: true,
    bigNumberStrings: true,
    decimalNumbers: false,
  });
  // Without a listener, a connection that breaks while idle would end the process. The next read finds out.
  connection.on('error', () => {});
  return connection;
}

async function prepareSession(connection: Connection, queryTimeoutSeconds: number): Promise<void> {
  const timeout = CONNECT_TIMEOUT_MS;
  const [rows] = await connection.query<never>({ sql: 'SELECT VERSION(), @@sql_mode', rowsAsArray: true, timeout });
  const [version, modes] = (rows as Buffer[][])[0]?.map(String) ?? [];
  const limit = version?.includes('MariaDB')
    ? `max_statement_time = ${queryTimeoutSeconds}`
    : `max_execution_time = ${Math.ceil(queryTimeoutSeconds * 1000)}`;
  const wanted = (modes ?? '').split(',').filter((mode) => !UNWANTED_MODES.has(mode));
  const settings = [
    "time_zone = '+00:00'",
    `sql_mode = '${wanted.join(',')}'`,
    limit,
    `lock_wait_timeout = ${Math.max(1, Math.ceil(queryTimeoutSeconds))}`,
  ];
  await connection.query({ sql: `SET SESSION ${settings.join(', ')}`, timeout });
  await connection.query({ sql: 'SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY', timeout });
}

class MysqlSnapshot implements ErpSnapshot {
  readonly #timeoutMs: number;

  constructor(
    readonly connection: Connection,
    readonly settings: MysqlSettings,
  ) {
    this.#timeoutMs = settings.queryTimeoutSeconds * 1000 + GRACE_MS;
  }

  async query(statement: Sql, doing: string): Promise<ErpResult> {
    const [rows, fields] = await this.run(render(statement), doing);
    const columns = fields.map(columnOf);
    const bits = fields.map((field) => field.columnType === Types.BIT);
    const texts = (rows as (Buffer | null)[][]).map((row) =>
      Object.fromEntries(columns.map(({ name }, index) => [name, textOf(row[index] ?? null, bits[index] ?? false)])),
    );
    return { columns, rows: texts };
  }

  async describe(statement: Sql, doing: string): Promise<ErpColumn[]> {
    return (await this.query(statement, doing)).columns;
  }

  async nowUtc(): Promise<string> {
    const { rows } = await this.query(rawSql('SELECT UTC_TIMESTAMP(6) AS now'), 'read the clock');
    return rows[0]?.now ?? '';
  }

  async run(text: string, doing: string): Promise<[unknown, FieldPacket[]]> {
    try {
      return await this.connection.query<never>({ sql: text, rowsAsArray: true, timeout: this.#timeoutMs });
    } catch (error) {
      throw error instanceof ErpError ? error : mysqlFailure(error, doing, this.settings, 'query');
    }
  }
}

function render({ pieces, values }: Sql): string {
  return pieces.reduce((text, piece, index) => {
    const value = values[index - 1];
    return value === undefined ? piece : text + literal(value) + piece;
  }, '');
}

/** A number in quotes would be compared as a float with most columns, and would not use a text column's index either. */
function literal({ text, kind }: SqlValue): string {
  return kind === 'number' && /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(text) ? text : mysql.escape(text);
}

function textOf(value: Buffer | null, isBits: boolean): string | null {
  if (value === null) return null;
  return isBits ? BigInt(`0x${value.toString('hex') || '0'}`).toString() : bytesAsText(value);
}

const NUMBERS = new Set<number>([
  Types.DECIMAL,
  Types.TINY,
  Types.SHORT,
  Types.LONG,
  Types.FLOAT,
  Types.DOUBLE,
  Types.LONGLONG,
  Types.INT24,
  Types.YEAR,
  Types.BIT,
  Types.NEWDECIMAL,
]);
const BINARY_CHARSET = 63;
const ENUM_OR_SET = 256 | 2048;

function columnOf(field: FieldPacket): ErpColumn {
  const type = field.columnType ?? Types.VAR_STRING;
  const base = { name: field.name, fractionDigits: null, keyProblem: keyProblemOf(field, type) };
  const digits = Math.min(field.decimals ?? 0, 6);
  if (type === Types.TIMESTAMP) return { ...base, kind: 'timestamp', fractionDigits: digits };
  if (type === Types.DATETIME) return { ...base, kind: 'datetime', fractionDigits: digits };
  if (type === Types.DATE || type === Types.NEWDATE) return { ...base, kind: 'date', fractionDigits: 0 };
  const kind: ColumnKind = NUMBERS.has(type) ? 'number' : 'text';
  return { ...base, kind };
}

function keyProblemOf(field: FieldPacket, type: number): string | null {
  if (type === Types.FLOAT) return 'a FLOAT is not exact; write CAST(… AS DECIMAL(20, 6)) in the query';
  const flags = typeof field.flags === 'number' ? field.flags : 0;
  if (flags & ENUM_OR_SET)
    return 'an ENUM is sorted by number and compared by name; write CAST(… AS CHAR) in the query';
  const isBytes = field.characterSet === BINARY_CHARSET && !NUMBERS.has(type) && !isTime(type);
  return isBytes ? 'it holds bytes, not text; write HEX(…) or CONVERT(… USING utf8mb4) in the query' : null;
}

function isTime(type: number): boolean {
  const times: number[] = [Types.TIMESTAMP, Types.DATETIME, Types.DATE, Types.NEWDATE, Types.TIME];
  return times.includes(type);
}
