import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import PQueue from 'p-queue';
import type { DataSource, QueryRunner } from 'typeorm';
import type { WriteBackKind } from '../model/write-back.js';
import { StoreError } from './store-error.js';

export type Dialect = 'sqlite' | 'mysql';

export type SqlValue = string | number | null;

/** One open transaction (or one read) of the store. Every query function takes it as its first argument. */
export interface Tx {
  readonly dialect: Dialect;
  /** Ends a SELECT that locks its rows. Empty on SQLite, whose transaction holds the write lock already. */
  readonly forUpdate: '' | ' FOR UPDATE';
  /** The same, passing over rows that another transaction has locked. */
  readonly skipLocked: '' | ' FOR UPDATE SKIP LOCKED';
  readonly insertIgnore: 'INSERT IGNORE INTO' | 'INSERT OR IGNORE INTO';
  /** SQL for the database's clock in milliseconds: two machines must not argue about when a lease ends. */
  readonly nowMs: string;
  /** See `Store.writeBackKinds`. */
  readonly writeBackKinds: ReadonlySet<WriteBackKind>;
  /**
   * Rows of a SELECT, named in camel case: `source_key` comes out as `sourceKey`. Numbers are numbers on both databases,
   * so that a row of the right type needs no mapper. Placeholders are `?` on both databases.
   */
  // biome-ignore lint/suspicious/noExplicitAny: the caller names the row type, as the SQL beside it does
  rows<Row = any>(sql: string, parameters?: readonly SqlValue[]): Promise<Row[]>;
  /** The first column of the first row, e.g. a count; undefined when there is no row. */
  value<Value extends SqlValue>(sql: string, parameters?: readonly SqlValue[]): Promise<Value | undefined>;
  /** Rows of a SELECT with the names that the SQL gives them. */
  // biome-ignore lint/suspicious/noExplicitAny: the caller names the row type, as the SQL beside it does
  select<Row = any>(sql: string, parameters?: readonly SqlValue[]): Promise<Row[]>;
  /** Runs a statement and returns how many rows it matched. */
  run(sql: string, parameters?: readonly SqlValue[]): Promise<number>;
  /** Inserts one row and returns its id. */
  insertReturningId(sql: string, parameters?: readonly SqlValue[]): Promise<number>;
}

/** Deadlock, lock wait timeout, snapshot conflict: the server asks for the whole transaction again (field notes, InnoDB). */
const retryableErrnos = new Set([1213, 1205, 1020]);
const maxTries = 10;

/** How long a call waits while another process writes to the SQLite file. */
const busyPatienceMs = 10_000;

/** The stores whose call is under way here. One for all: on Node 20 each further instance slows every promise down, for ever. */
const storesInside = new AsyncLocalStorage<readonly Store[]>();

/**
 * The store's database: transactions that are whole or not there at all.
 *
 * SQLite has one connection, so transactions stand in line and begin with the write lock (a transaction that reads first
 * and writes later can be refused at once). While another process holds that lock they wait here, and not in the driver,
 * which would stop every timer and socket of this process. MySQL and MariaDB use a pool at READ COMMITTED.
 */
export class Store {
  readonly dialect: Dialect;
  /** What is written back into the ERP: transactions mark the records of these kinds that they change (`markDue`). */
  writeBackKinds: ReadonlySet<WriteBackKind> = new Set();
  readonly #line: PQueue | null;

  constructor(private readonly dataSource: DataSource) {
    this.dialect = dataSource.options.type === 'better-sqlite3' ? 'sqlite' : 'mysql';
    this.#line = this.dialect === 'sqlite' ? new PQueue({ concurrency: 1 }) : null;
  }

  /** Runs `work` in one transaction; reruns all of it when the database asks for that. `work` must have no other effects. */
  async transaction<T>(action: string, work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#inLine(() => this.#withRunner(action, (runner) => this.#transact(runner, work)));
  }

  /** Runs SELECTs outside of a transaction. */
  async read<T>(action: string, work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#inLine(() => this.#withRunner(action, (runner) => work(txOf(this, runner))));
  }

  /** Runs SELECTs that all see one moment, however long they take, and block no writer. MySQL and MariaDB. */
  async snapshot<T>(action: string, work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#withRunner(action, async (runner) => {
      await runner.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ');
      await runner.query('START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY');
      try {
        return await work(txOf(this, runner));
      } finally {
        await runner.query('ROLLBACK').catch(() => undefined);
      }
    });
  }

  async close(): Promise<void> {
    await this.#line?.onIdle();
    if (this.dataSource.isInitialized) await this.dataSource.destroy();
  }

  async #inLine<T>(work: () => Promise<T>): Promise<T> {
    // A transaction that waits for another one behind itself would wait for ever; on MySQL it would escape the rollback.
    const inside = storesInside.getStore() ?? [];
    if (inside.includes(this)) throw new Error('A store call inside a store transaction: use its tx instead.');
    const guarded = () => storesInside.run([...inside, this], work);
    return this.#line ? ((await this.#line.add(guarded)) as T) : guarded();
  }

  async #withRunner<T>(action: string, work: (runner: QueryRunner) => Promise<T>): Promise<T> {
    const begunAt = performance.now();
    for (let tries = 1; ; tries++) {
      const runner = this.dataSource.createQueryRunner();
      try {
        return await work(runner);
      } catch (error) {
        if (!mayRunAgain(error, tries, performance.now() - begunAt)) throw StoreError.wrap(action, error);
      } finally {
        // An unreleased runner keeps its connection for ever.
        await runner.release();
      }
      await sleep(Math.random() * 20 * Math.min(tries, maxTries));
    }
  }

  async #transact<T>(runner: QueryRunner, work: (tx: Tx) => Promise<T>): Promise<T> {
    if (this.dialect === 'sqlite') await runner.query('BEGIN IMMEDIATE');
    else await runner.startTransaction('READ COMMITTED');
    try {
      const result = await work(txOf(this, runner));
      if (this.dialect === 'sqlite') await runner.query('COMMIT');
      else await runner.commitTransaction();
      return result;
    } catch (error) {
      // After 1205 the transaction stays open, and a later COMMIT would keep half of it. A rollback that fails too means
      // that the connection is gone, and the transaction with it: the first error is the one to report.
      if (this.dialect === 'sqlite') await runner.query('ROLLBACK').catch(() => undefined);
      else await runner.rollbackTransaction().catch(() => undefined);
      throw error;
    }
  }
}

const sqlOf = {
  sqlite: {
    dialect: 'sqlite',
    forUpdate: '',
    skipLocked: '',
    insertIgnore: 'INSERT OR IGNORE INTO',
    nowMs: `CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER)`,
  },
  mysql: {
    dialect: 'mysql',
    forUpdate: ' FOR UPDATE',
    skipLocked: ' FOR UPDATE SKIP LOCKED',
    insertIgnore: 'INSERT IGNORE INTO',
    // From UTC: in the hour that comes twice in autumn, UNIX_TIMESTAMP(NOW()) can't tell the second from the first.
    nowMs: "(TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(3)) DIV 1000)",
  },
} as const;

function txOf({ dialect, writeBackKinds }: Store, runner: QueryRunner): Tx {
  return {
    ...sqlOf[dialect],
    writeBackKinds,
    rows: async (sql, parameters = []) => (await runner.query(sql, [...parameters])).map(camelCased),
    value: async (sql, parameters = []) =>
      Object.values((await runner.query(sql, [...parameters]))[0] ?? {})[0] as never,
    select: (sql, parameters = []) => runner.query(sql, [...parameters]),
    run: async (sql, parameters = []) => (await runner.query(sql, [...parameters], true)).affected ?? 0,
    insertReturningId: async (sql, parameters = []) => {
      const { raw } = await runner.query(sql, [...parameters], true);
      return Number(dialect === 'sqlite' ? raw : raw.insertId);
    },
  };
}

const camelNames = new Map<string, string>();

function camelName(column: string): string {
  let name = camelNames.get(column);
  if (name === undefined) {
    name = column.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
    camelNames.set(column, name);
  }
  return name;
}

function camelCased(row: Record<string, SqlValue>): Record<string, SqlValue> {
  const named: Record<string, SqlValue> = {};
  for (const column in row) named[camelName(column)] = row[column] as SqlValue;
  return named;
}

/**
 * Whether a call that failed is run again, whole. Pure.
 * @param elapsedMs since its first try
 */
export function mayRunAgain(error: unknown, tries: number, elapsedMs: number): boolean {
  const { errno, code } = (error as { driverError?: { errno?: number; code?: string } }).driverError ?? {};
  // Another process writes, restores the log after a crash, or has written since this one read: SQLITE_BUSY_SNAPSHOT and the like.
  if (code?.startsWith('SQLITE_BUSY')) return elapsedMs < busyPatienceMs;
  return retryableErrnos.has(errno ?? 0) && tries < maxTries;
}
