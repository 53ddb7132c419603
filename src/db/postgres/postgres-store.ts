import { createRequire } from 'node:module';
import type { Socket } from 'node:net';
import type { ClientBase } from 'pg';
import types from 'pg-types';
import type { DataSource } from 'typeorm';
import type { StoreSettings } from '../../config/sections/store.js';
import { SessionRefused } from '../session-refused.js';
import { standardSql } from '../sqlite/sqlite-store.js';
import type { SqlValue, StoreDialect, StoreOptions } from '../store-dialect.js';
import { postgresFailures } from './postgres-failure.js';
import { checkSettings, type SessionSettings, sessionSettings, setSettings } from './session.js';
import { postgresStoreAccount } from './store-account.js';
import { postgresTransport } from './transport.js';

/**
 * Further settings of each session. A process that is frozen, or cut off from the store, in the middle of a transaction
 * holds its row locks: the server ends it after five seconds. Waiting for a lock, and any one statement, has an end as
 * well. The server's operators decide if a session may write, and if a commit waits for the disk.
 */
const sessionWishes = sessionSettings({
  idle_in_transaction_session_timeout: '5000',
  lock_timeout: '50000',
  statement_timeout: '600000',
  TimeZone: 'UTC',
});

const lockKey = "hashtext('waybill ' || current_schema())";

/** `count` and the sum of a BIGINT column are wider than a number; the store's stay below 2^53. Comparisons are 1 and 0, as elsewhere. */
const parsers = new Map<number, (text: string) => unknown>([
  [types.builtins.INT8, toNumber],
  [types.builtins.NUMERIC, toNumber],
  [types.builtins.BOOL, (text) => (text === 't' ? 1 : 0)],
]);

function toNumber(text: string): number | string {
  const number = Number(text);
  return Number.isInteger(number) && !Number.isSafeInteger(number) ? text : number;
}

export const postgres: StoreDialect = {
  name: 'postgres',
  driver: 'postgres',
  connections: 6,
  // With twice as many a drain took a tenth longer.
  messagesAtOnce: 128,
  keepsStatements: false,
  options(settings, readOnly): StoreOptions {
    const { database, user, password, ...place } = serverOf(settings);
    const { host, port, ssl } = postgresTransport(place);
    const wanted = readOnly ? { ...sessionWishes, default_transaction_read_only: 'on' } : sessionWishes;
    return {
      type: 'postgres',
      driver: createRequire(import.meta.url)('pg'),
      // Not null, for which TypeORM would look for pg-native.
      nativeDriver: false,
      host,
      port,
      database,
      username: user,
      // Without one, the driver would look for PGPASSWORD and ~/.pgpass.
      password: password?.reveal() ?? (() => ''),
      applicationName: 'waybill',
      connectTimeoutMS: 10_000,
      installExtensions: false,
      // A connection that breaks while it rests is dropped from the pool; the next one to need it opens another.
      poolErrorHandler: () => undefined,
      extra: {
        ssl,
        // One more than transactions at once: a copy of the store is made beside them.
        max: 7,
        idleTimeoutMillis: 5_000,
        keepAlive: true,
        keepAliveInitialDelayMillis: 10_000,
        onConnect: setUpSessions(wanted),
        types: {
          getTypeParser: (oid: number, format?: 'text') => parsers.get(oid) ?? types.getTypeParser(oid, format),
        },
      },
    };
  },
  place(settings) {
    const { user, host, port, database } = serverOf(settings);
    return `${user}@${host}:${port}/${database}`;
  },

  socketOf: (client) => (client as { connection: { stream: Socket } }).connection.stream,

  begin: ['BEGIN ISOLATION LEVEL READ COMMITTED'],
  beginSnapshot: ['BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY'],
  failureEndsTransaction: true,
  migrationLock: {
    take: [`SELECT 1 AS taken FROM (SELECT pg_advisory_lock(${lockKey})) AS waited`],
    release: [`SELECT pg_advisory_unlock(${lockKey})`],
  },

  forUpdate: ' FOR UPDATE',
  forShare: ' FOR SHARE',
  skipLocked: ' FOR UPDATE SKIP LOCKED',
  // Not now(), which stands still during a transaction.
  nowMs: 'CAST(EXTRACT(EPOCH FROM clock_timestamp())*1000 AS BIGINT)',
  hasOwnClock: true,
  afterErasing: null,
  bind: numbered,
  parameter: fitting,
  ...standardSql,
  returningId: ' RETURNING id',
  insertedId: ({ records }) => Number(records[0]?.id),
  /** A list of VALUES: a UNION of as many rows takes eighty times as long. The first row says of which types all are. */
  parameterRows(columns, count, typeOf) {
    const first = `(${columns.map((column) => `CAST(? AS ${/CHAR|TEXT/.test(typeOf(column)) ? 'TEXT' : 'BIGINT'})`).join(',')})`;
    const other = `(${columns.map(() => '?').join(',')})`;
    const rows = [first, ...Array.from({ length: count - 1 }, () => other)];
    return `SELECT * FROM (VALUES ${rows.join(',')}) AS r (${columns.join(',')})`;
  },
  // The column would be lowered by its own collation, the parameter by the database's.
  caseless: (text) => `LOWER(${text} COLLATE "C")`,
  contains: (text, part) => `STRPOS(${text}, ${part})>0`,

  schemaWords: async (runner) => ({
    id: 'BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY',
    longText: 'TEXT',
    columns: inPostgresWords,
    end: '',
    nullability: (column, _type, as) => `ALTER COLUMN ${column} ${as === 'NULL' ? 'DROP' : 'SET'} NOT NULL`,
    addCheck: (table, name, condition) =>
      runner.query(`ALTER TABLE ${table} ADD CONSTRAINT ${name} CHECK (${condition})`),
    jsonObject: (name, value) => `json_build_object('${name}', ${value})`,
  }),
  schemaColumns: `SELECT table_name AS table_name, column_name AS column_name, data_type AS data_type, is_nullable AS is_nullable
     FROM information_schema.columns WHERE table_schema=current_schema()`,
  catalogue: {
    tables:
      "SELECT table_name AS name FROM information_schema.tables WHERE table_schema=current_schema() AND table_type='BASE TABLE' ORDER BY table_name",
    keyColumns: `SELECT k.column_name AS name FROM information_schema.table_constraints c
        JOIN information_schema.key_column_usage k ON k.constraint_schema=c.constraint_schema AND k.constraint_name=c.constraint_name
       WHERE c.table_schema=current_schema() AND c.table_name=? AND c.constraint_type='PRIMARY KEY' ORDER BY k.ordinal_position`,
    moveCounter: (table) => `SELECT setval(pg_get_serial_sequence('${table}', 'id'), MAX(id)) FROM ${table}`,
  },
  account: postgresStoreAccount,
  async durabilityWarning(dataSource: DataSource) {
    const names = ['fsync', 'synchronous_commit', 'full_page_writes'];
    const [row] = await dataSource.query(`SELECT ${names.map((name) => `current_setting('${name}') AS ${name}`)}`);
    const off = names.filter((name) => row?.[name] === 'off').map((name) => `${name}=off`);
    if (off.length === 0) return null;
    return `The store's server has ${off.join(' and ')}: a power cut may lose what was acknowledged. Set it to on.`;
  },

  failures: postgresFailures,
};

/** Sets up each new session before the pool hands it out. */
function setUpSessions(wanted: SessionSettings) {
  let home: string | undefined;
  return async (client: ClientBase) => {
    // For a moment neither the pool nor TypeORM listens: a server that ends a session as it begins would end the process.
    client.on('error', () => undefined);
    const schema = 'pg_catalog.current_schema() AS schema';
    const { rows } = await client.query({ text: `${setSettings(wanted, 'session')}, ${schema}`, rowMode: 'array' });
    const [row = []] = rows as (string | null)[][];
    checkSettings(wanted, row);
    // Another search_path would lead to another store, or to none.
    const found = `${row.at(-1)}`;
    home ??= found;
    if (found !== home) throw new SessionRefused('schema', found, home);
  };
}

/** The store has whole numbers only, which other databases round by themselves; a text can't hold U+0000 here. */
function fitting(value: SqlValue): SqlValue {
  if (typeof value === 'number') return Math.round(value);
  return value === null || !value.includes('\0') ? value : value.replaceAll('\0', '\ufffd');
}

/** Numbers the parameters, except for what stands in quotes. */
function numbered(sql: string): string {
  let count = 0;
  return sql.replace(/'[^']*'|\?/g, (token) => (token === '?' ? `$${++count}` : token));
}

/** Text is compared byte by byte, and sorted so, whatever the language of the database. */
function inPostgresWords(definition: string): string {
  return definition
    .replace(/\bTINYINT\b/g, 'SMALLINT')
    .replace(/\b(?:VAR)?CHAR\((\d+)\)/g, 'VARCHAR($1) COLLATE "C"')
    .replace(/\bTEXT\b/g, 'TEXT COLLATE "C"');
}

function serverOf(settings: StoreSettings) {
  if (settings.type !== 'postgres') throw new Error(`${settings.type} is no PostgreSQL.`);
  return settings;
}
