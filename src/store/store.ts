import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import PQueue from 'p-queue';
import type { DataSource, QueryRunner } from 'typeorm';
import type { WriteBackKind } from '../model/write-back.js';
import type { DriverError, SqlValue, StoreDialect } from './dialects/dialect.js';
import { dialectOfSource } from './dialects/dialects.js';
import { StoreError } from './store-error.js';

export type { SqlValue } from './dialects/dialect.js';

/** One open transaction (or one read) of the store. Every query function takes it as its first argument. */
export interface Tx {
  /** For SQL that not all databases write alike. */
  readonly dialect: StoreDialect;
  /** Ends a SELECT that locks its rows. Empty on SQLite, whose transaction holds the write lock already. */
  readonly forUpdate: string;
  /** The same, passing over rows that another transaction has locked. */
  readonly skipLocked: string;
  /** SQL for the database's clock in milliseconds: two machines must not argue about when a lease ends. */
  readonly nowMs: string;
  /** See `Store.writeBackKinds`. */
  readonly writeBackKinds: ReadonlySet<WriteBackKind>;
  /**
   * Rows of a SELECT, named in camel case: `source_key` comes out as `sourceKey`. Numbers are numbers on all databases,
   * so that a row of the right type needs no mapper. Placeholders are `?` on all databases.
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
  /** Inserts one row, unless its key is taken. @returns whether it was free */
  insertNew(sql: string, parameters?: readonly SqlValue[]): Promise<boolean>;
  /** Inserts one row and returns its id. */
  insertReturningId(sql: string, parameters?: readonly SqlValue[]): Promise<number>;
}

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
 * which would stop every timer and socket of this process. The others use a pool at READ COMMITTED.
 */
export class Store {
  readonly dialect: StoreDialect;
  /** What is written back into the ERP: transactions mark the records of these kinds that they change (`markDue`). */
  writeBackKinds: ReadonlySet<WriteBackKind> = new Set();
  readonly #line: PQueue;

  constructor(private readonly dataSource: DataSource) {
    this.dialect = dialectOfSource(dataSource);
    this.#line = new PQueue({ concurrency: this.dialect.connections });
  }

  /** Runs `work` in one transaction; reruns all of it when the database asks for that. `work` must have no other effects. */
  async transaction<T>(action: string, work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#inLine(() => this.#withRunner(action, (runner) => this.#transact(runner, work)));
  }

  /** Runs SELECTs outside of a transaction. */
  async read<T>(action: string, work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#inLine(() => this.#withRunner(action, (runner) => work(txOf(this, runner))));
  }

  /** Runs SELECTs that all see one moment, however long they take, and block no writer. Where the database can (`beginSnapshot`). */
  async snapshot<T>(action: string, work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#withRunner(action, async (runner) => {
      for (const statement of this.dialect.beginSnapshot ?? []) await runner.query(statement);
      try {
        return await work(txOf(this, runner));
      } finally {
        await runner.query('ROLLBACK').catch(() => undefined);
      }
    });
  }

  async close(): Promise<void> {
    await this.#line.onIdle();
    if (this.dataSource.isInitialized) await this.dataSource.destroy();
  }

  async #inLine<T>(work: () => Promise<T>): Promise<T> {
    // A transaction that waits for another one behind itself would wait for ever; on a pool it would escape the rollback.
    const inside = storesInside.getStore() ?? [];
    if (inside.includes(this)) throw new Error('A store call inside a store transaction: use its tx instead.');
    const guarded = () => storesInside.run([...inside, this], work);
    return (await this.#line.add(guarded)) as T;
  }

  async #withRunner<T>(action: string, work: (runner: QueryRunner) => Promise<T>): Promise<T> {
    const begunAt = performance.now();
    for (let tries = 1; ; tries++) {
      const runner = this.dataSource.createQueryRunner();
      try {
        return await work(runner);
      } catch (error) {
        if (!mayRunAgain(this.dialect, error, tries, performance.now() - begunAt))
          throw StoreError.wrap(this.dataSource, action, error);
      } finally {
        // An unreleased runner keeps its connection for ever.
        await runner.release();
      }
      await sleep(Math.random() * 20 * Math.min(tries, maxTries));
    }
  }

  async #transact<T>(runner: QueryRunner, work: (tx: Tx) => Promise<T>): Promise<T> {
    for (const statement of this.dialect.begin) await runner.query(statement);
    try {
      let failure: unknown = null;
      const result = await work(txOf(this, runner, (error) => (failure ??= error)));
      if (failure !== null && this.dialect.failureEndsTransaction) throw failure;
      await runner.query('COMMIT');
      return result;
    } catch (error) {
      // After a lock wait timeout the transaction stays open on MySQL, and a later COMMIT would keep half of it. A rollback that
      // fails too means that the connection is gone, and the transaction with it: the first error is the one to report.
      await runner.query('ROLLBACK').catch(() => undefined);
      throw error;
    }
  }
}

/** @param onFailure is told of each statement that fails, whatever the caller makes of it */
function txOf({ dialect, writeBackKinds }: Store, runner: QueryRunner, onFailure?: (error: unknown) => void): Tx {
  const run = async (sql: string, parameters: readonly SqlValue[] = []) => {
    try {
      return await runner.query(dialect.bind(sql), parameters.map(dialect.parameter), true);
    } catch (error) {
      onFailure?.(error);
      throw error;
    }
  };
  const select = async (sql: string, parameters?: readonly SqlValue[]) => (await run(sql, parameters)).records;
  return {
    dialect,
    forUpdate: dialect.forUpdate,
    skipLocked: dialect.skipLocked,
    nowMs: dialect.nowMs,
    writeBackKinds,
    rows: async (sql, parameters) => (await select(sql, parameters)).map(camelCased) as never[],
    value: async (sql, parameters) => Object.values((await select(sql, parameters))[0] ?? {})[0] as never,
    select,
    run: async (sql, parameters) => (await run(sql, parameters)).affected ?? 0,
    insertNew: async (sql, parameters) => ((await run(dialect.insertNew(sql), parameters)).affected ?? 0) > 0,
    insertReturningId: async (sql, parameters) =>
      dialect.insertedId(await run(`${sql}${dialect.returningId}`, parameters)),
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
export function mayRunAgain(dialect: StoreDialect, error: unknown, tries: number, elapsedMs: number): boolean {
  const retry = dialect.retry((error as { driverError?: DriverError }).driverError ?? {});
  return (retry === 'patiently' && elapsedMs < busyPatienceMs) || (retry === 'a few times' && tries < maxTries);
}
