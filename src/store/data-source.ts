import { chmodSync, closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { DataSource } from 'typeorm';
import type { StoreSettings } from '../config/sections/store.js';
import { mysqlTransport } from '../model/mysql-transport.js';
import { sqliteDriver } from '../sqlite.js';
import { Initial1700000000000 } from './migrations/1700000000000-initial.js';

/** The pool lets go of a connection after this time without use; the server has to wait longer than that. */
const poolIdleMs = 5_000;

/**
 * How long the server keeps a session that says nothing, in seconds. A process that is frozen, or cut off from the
 * store, in the middle of a transaction holds its row locks, and no other process could take over until the server let go:
 * by default after eight hours. MariaDB (10.3 and newer) tells a session inside a transaction from one that rests.
 */
const limits = 'SET SESSION wait_timeout=10 /*M!100300 , SESSION idle_transaction_timeout=5 */';

interface Session {
  query(sql: string, done: (error: unknown) => void): void;
}

/** From now on every connection of the pool is limited before its next use. MySQL and MariaDB only. */
export function limitSessions(dataSource: DataSource): void {
  const { pool } = dataSource.driver as unknown as {
    pool: { on(event: 'acquire', listener: (session: Session) => void): void };
  };
  const limited = new WeakSet<Session>();
  pool.on('acquire', (session) => {
    if (limited.has(session)) return;
    limited.add(session);
    // Commands of one connection stand in line, so this one comes first. A connection that is broken says so to its user.
    session.query(limits, () => undefined);
  });
}

/** Oldest first. A migration that has shipped never changes. */
export const migrations = [Initial1700000000000];

/** TypeORM's data source for the store. Not yet connected; the schema comes from migrations alone, never from `synchronize`. */
export function storeDataSource(settings: StoreSettings, readOnly = false): DataSource {
  const common = { migrations, migrationsTableName: 'migration', synchronize: false, logging: false } as const;
  if (settings.type === 'sqlite') {
    const { file } = settings;
    return new DataSource({
      ...common,
      type: 'better-sqlite3',
      driver: sqliteDriver(),
      database: file,
      // For the opening only: afterwards `Store` waits, and timers and sockets go on meanwhile.
      timeout: 10_000,
      ...(readOnly ? { readonly: true, fileMustExist: true } : {}),
      prepareDatabase: (database: { pragma(text: string): unknown }) => {
        if (!readOnly) database.pragma('journal_mode = WAL');
        database.pragma('busy_timeout = 0');
        if (readOnly) return;
        // In WAL mode only FULL makes a commit survive a power cut.
        database.pragma('synchronous = FULL');
        database.pragma('foreign_keys = ON');
        // Pruned and forgotten data must not stay in the free pages of the file.
        database.pragma('secure_delete = ON');
        // In KiB. The driver takes 16 MB, which a store fills that has become large, and is hardly faster for it.
        database.pragma('cache_size = -4000');
      },
    });
  }
  const transport = mysqlTransport(settings);
  return new DataSource({
    ...common,
    type: 'mysql',
    host: transport.host,
    port: transport.port,
    ...('ssl' in transport ? { ssl: transport.ssl } : {}),
    database: settings.database,
    username: settings.user,
    password: settings.password?.reveal(),
    charset: 'utf8mb4',
    connectTimeout: 10_000,
    supportBigNumbers: true,
    bigNumberStrings: false,
    dateStrings: true,
    extra: {
      ...('stream' in transport ? { stream: transport.stream } : {}),
      // Sums of whole numbers; the store has no DECIMAL column.
      decimalNumbers: true,
      connectionLimit: 6,
      // Below the limit, or the driver never looks for idle connections.
      maxIdle: 5,
      idleTimeout: poolIdleMs,
      enableKeepAlive: true,
      keepAliveInitialDelay: 10_000,
    },
  });
}

/** Creates the SQLite file with mode 0600 before anything is written into it: order data is private. */
export function createPrivateFile(file: string): void {
  if (file === ':memory:') return;
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  closeSync(openSync(file, 'a', 0o600));
  chmodSync(file, 0o600);
}
