import mysql from 'mysql2';
import type { FieldPacket } from 'mysql2/promise';
import {
  bytesAsText,
  type ErpColumn,
  type ErpDatabase,
  type ErpDialect,
  type ErpResult,
  type ErpSnapshot,
  inexact,
} from '../erp-database.js';
import type { ErpError } from '../erp-failures.js';
import { readFailure } from '../failures.js';
import { graceMs, type ServerErp } from '../server.js';
import { allEqual, isNumberText, joinSql, rawSql, type Sql, type SqlValue, sql } from '../sql.js';
import { MysqlConnection } from './connection.js';
import { mysqlCatalogue, mysqlInspection } from './mysql-catalogue.js';
import { mysqlFailures } from './mysql-failure.js';
import { meansOtherwise } from './session.js';

const { Types } = mysql;
/** A frozen process must not keep the server from cleaning up behind its snapshot; an idle connection costs nothing. */
const IDLE_SECONDS = { idleTimeout: 28_800, idleTransactionTimeout: 60 };

/**
 * Byte by byte and with every trailing space: under the `utf8mb4_bin` of the table the keys `A` and `A ` would be one. MySQL and
 * MariaDB have different names for it, and each reads its own comment; very old servers have none.
 */
const exactCollation = '/*!80017 COLLATE utf8mb4_0900_bin */ /*M!100202 COLLATE utf8mb4_nopad_bin */';

export const mysqlDialect: ErpDialect = {
  quoteIdentifier: (name) => `\`${name.replaceAll('`', '``')}\``,
  /** MariaDB reads no index for `(a, b) IN (…)`, but does for the same as an OR. */
  tupleIn(columns, tuples) {
    const [column, ...others] = columns;
    if (column !== undefined && others.length === 0) return sql`${column} IN (${joinSql(tuples.flat())})`;
    return sql`(${joinSql(
      tuples.map((tuple) => sql`(${allEqual(columns, tuple)})`),
      ' OR ',
    )})`;
  },
  setTimeZone: (offset) => sql`SET time_zone = ${{ text: offset, kind: 'text' }}`,
  zoneIsKnown: (timeZone) =>
    sql`SELECT CONVERT_TZ('2026-01-01 00:00:00', '+00:00', ${{ text: timeZone, kind: 'text' }}) AS known`,
  warnings: rawSql('SHOW WARNINGS'),
  nowUtc: rawSql('UTC_TIMESTAMP(6)'),
  backslashEscapes: true,
  lineComment: '--(?=\\s|$)[^\\n]*|#[^\\n]*',
  asText: (column) => column,
  fromLatin1: (column) => `CONVERT(${column} USING latin1)`,
  asHex: (column) => `HEX(${column})`,
  joinTexts: (columns) => `TRIM(CONCAT_WS(' ', ${columns.join(', ')}))`,
  placeholder: () => '?',
  onConflict: () => 'ON DUPLICATE KEY UPDATE',
  insertsTwiceWithoutKey: true,
  insertedValue: (column) => `VALUES(${column})`,
  tableIn: (database, table) => [database, table].map(mysqlDialect.quoteIdentifier).join('.'),
  keyType: `VARCHAR(255) ${exactCollation}`,
  timeType: 'DATETIME',
  indexColumns,
  tableOptions: ' ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin',
  account: {
    create: (user, from) => `CREATE USER ${accountName(user, from)} IDENTIFIED BY '...';`,
    grant: (table, user, from) => `GRANT SELECT, INSERT, UPDATE, DELETE ON ${table} TO ${accountName(user, from)};`,
    // A right on a whole database can't be taken from one table of it.
    revoke(excess, user, from) {
      const roles = new Set(excess.flatMap((right) => /^role (.*?): /s.exec(right)?.[1] ?? []));
      return [...[...roles].map((role) => `REVOKE ${role}`), 'REVOKE ALL PRIVILEGES, GRANT OPTION'].map(
        (statement) => `${statement} FROM ${accountName(user, from)};`,
      );
    },
    grantReading: (tables, user, from, database) =>
      tables.map(
        ({ name }) => `GRANT SELECT ON ${mysqlDialect.tableIn(database, name)} TO ${accountName(user, from)};`,
      ),
  },
  catalogue: mysqlCatalogue,
  inspection: mysqlInspection,
};

/** The most bytes that InnoDB takes into one index; a letter takes up to four of them, and the longest number 30. */
const INDEX_BYTES = 3072;
/** As much of a text as leaves room for other columns. One without a length can't be indexed whole at all. */
const INDEXED_LETTERS = 255;

function indexColumns(columns: readonly { name: string; type: string }[]): string[] {
  let left = INDEX_BYTES;
  const names: string[] = [];
  for (const { name, type } of columns) {
    const [, size] = /^(?:var)?(?:char|binary)\((\d+)\)/i.exec(type) ?? [];
    const letters = /^(tiny|medium|long)?(text|blob)/i.test(type) ? Number.POSITIVE_INFINITY : Number(size ?? 0);
    left -= Math.max(Math.min(letters, INDEXED_LETTERS) * 4, 30);
    if (left < 0) break;
    names.push(mysqlDialect.quoteIdentifier(name) + (letters > INDEXED_LETTERS ? `(${INDEXED_LETTERS})` : ''));
  }
  return names;
}

function accountName(...parts: [user: string, from: string]): string {
  return parts.map((text) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`).join('@');
}

/** An ERP on MySQL or MariaDB, read through one connection that may only read. */
export class MysqlErp extends MysqlConnection implements ErpDatabase {
  readonly #timeoutMs: number;

  constructor(settings: ServerErp) {
    super(settings, () => ({
      isolation: 'REPEATABLE-READ',
      readOnly: true,
      statementTimeout: settings.queryTimeoutSeconds,
      lockTimeout: Math.max(1, Math.ceil(settings.queryTimeoutSeconds)),
      ...IDLE_SECONDS,
    }));
    this.#timeoutMs = settings.queryTimeoutSeconds * 1000 + graceMs;
  }

  snapshot<T>(read: (snapshot: ErpSnapshot) => Promise<T>): Promise<T> {
    return this.run(async (connect) => {
      const connection = await connect().catch((error) => {
        throw this.#failure(error, 'connect', 'unreachable');
      });
      const run = async (text: string, doing: string) => {
        const statement = { sql: text, rowsAsArray: true, timeout: this.#timeoutMs };
        return connection.query<never>(statement).catch((error) => {
          throw this.#failure(error, doing, 'query');
        });
      };
      const query = async (statement: Sql, doing: string) => resultOf(...(await run(render(statement), doing)));
      await run('START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY', 'begin a snapshot');
      const misread = (statement: string) => meansOtherwise(statement, this.inheritedModes);
      const result = await read({ dialect: mysqlDialect, query, misread });
      await run('COMMIT', 'end a snapshot');
      return result;
    });
  }

  #failure(error: unknown, doing: string, otherwise: 'unreachable' | 'query'): ErpError {
    return readFailure(mysqlFailures, this.withoutPassword(error), { doing, place: this.identity(), otherwise });
  }
}

/** A statement that sets something has no fields. */
function resultOf(rows: unknown, fields: FieldPacket[] | undefined): ErpResult {
  if (fields === undefined) return { columns: [], rows: [] };
  const columns = fields.map(columnOf);
  const textAt = (row: (Buffer | null)[], index: number) =>
    textOf(row[index] ?? null, fields[index]?.columnType === Types.BIT);
  const texts = (rows as (Buffer | null)[][]).map((row) =>
    Object.fromEntries(columns.map(({ name }, index) => [name, textAt(row, index)])),
  );
  return { columns, rows: texts };
}

function render({ pieces, values }: Sql): string {
  return pieces.reduce((text, piece, index) => {
    const value = values[index - 1];
    return value === undefined ? piece : text + literal(value) + piece;
  }, '');
}

/** A number in quotes would be compared as a float with most columns, and would not use a text column's index either. */
function literal({ text, kind }: SqlValue): string {
  return kind === 'number' && isNumberText(text) ? text : mysql.escape(text);
}

function textOf(value: Buffer | null, isBits: boolean): string | null {
  if (value === null) return null;
  return isBits ? BigInt(`0x${value.toString('hex') || '0'}`).toString() : bytesAsText(value);
}

const NUMBERS = new Set<number>([
  ...[Types.DECIMAL, Types.NEWDECIMAL, Types.FLOAT, Types.DOUBLE],
  ...[Types.TINY, Types.SHORT, Types.INT24, Types.LONG, Types.LONGLONG, Types.YEAR, Types.BIT],
]);
const TIMES = new Map<number, 'timestamp' | 'datetime' | 'date'>([
  [Types.TIMESTAMP, 'timestamp'],
  [Types.DATETIME, 'datetime'],
  [Types.DATE, 'date'],
  [Types.NEWDATE, 'date'],
]);
const BINARY_CHARSET = 63;
const ENUM_OR_SET = 256 | 2048;

function columnOf(field: FieldPacket): ErpColumn {
  const type = field.columnType ?? Types.VAR_STRING;
  const time = TIMES.get(type);
  const digits = time === 'date' ? 0 : Math.min(field.decimals ?? 0, 6);
  return {
    name: field.name,
    kind: time ?? (NUMBERS.has(type) ? 'number' : 'text'),
    fractionDigits: time === undefined ? null : digits,
    scale: NUMBERS.has(type) && floatOf(type) === null ? (field.decimals ?? 0) : null,
    keyProblem: keyProblemOf(field, type),
    float: floatOf(type),
  };
}

function floatOf(type: number): ErpColumn['float'] {
  if (type === Types.FLOAT) return 'FLOAT';
  return type === Types.DOUBLE ? 'DOUBLE' : null;
}

function keyProblemOf(field: FieldPacket, type: number): string | null {
  const float = floatOf(type);
  if (float !== null) return inexact(float);
  const flags = typeof field.flags === 'number' ? field.flags : 0;
  if (flags & ENUM_OR_SET)
    return 'an ENUM is sorted by number and compared by name; write CAST(… AS CHAR) in the query';
  const isText = NUMBERS.has(type) || TIMES.has(type) || type === Types.TIME;
  if (field.characterSet !== BINARY_CHARSET || isText) return null;
  return 'it holds bytes, not text; write HEX(…) or CONVERT(… USING utf8mb4) in the query';
}
