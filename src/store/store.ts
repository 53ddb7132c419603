import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DataSource } from 'typeorm';
import { dialectOfSource } from '../db/databases.js';
import { inTime } from '../db/server.js';
import type { DriverError, SqlValue, StoreDialect, StoreSession } from '../db/store-dialect.js';
import type { WriteBackKind } from '../model/write-back.js';
import { StoreError, StoreMoved, StoreWentBack } from './store-error.js';
import { type End, maxTries, mayRunAgain, rollBack, transact } from './transaction.js';

export type { SqlValue } from '../db/store-dialect.js';

/** One open transaction (or one read) of the store. Every query function takes it as its first argument. */
export interface Tx {
  /** For SQL that not all databases write alike. */
  readonly dialect: StoreDialect;
  /** Ends a SELECT that locks its rows. Empty on SQLite, whose transaction holds the write lock already. */
  readonly forUpdate: string;
  readonly forShare: string;
  /** The same, passing over rows that another transaction has locked. */
  readonly skipLocked: string;
  /** SQL for the database's clock in milliseconds: two machines must not argue about when a lease ends. */
  readonly nowMs: string;
  /** Stands for the store, for what a process remembers of it. */
  readonly storeKey: object;
  /** Calls back when the transaction has ended: whether it is certain that it was committed. */
  onEnd(end: (isCommitted: boolean) => void): void;
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

/** The stores whose call is under way here. Only where it is guarded: on Node 20 an instance slows every promise down, for ever. */
let storesInside: AsyncLocalStorage<readonly Store[]> | null = null;

/** From here on a store call inside a store transaction is an error. For tests: otherwise it waits for ever, or escapes the rollback. */
export function guardNestedCalls(): void {
  storesInside ??= new AsyncLocalStorage();
}

/** A line of calls, of which so many are under way at once. */
export class Line {
  #free: number;
  readonly #waiting: (() => void)[] = [];
  readonly #whenIdle: (() => void)[] = [];

  constructor(private readonly places: number) {
    this.#free = places;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else if (++this.#free === this.places) for (const told of this.#whenIdle.splice(0)) told();
    }
  }

  async idle(): Promise<void> {
    if (this.#free < this.places) await new Promise<void>((resolve) => this.#whenIdle.push(resolve));
  }
}

/**
 * The store's database: transactions that are whole or not there at all.
 *
 * SQLite has one connection, so transactions stand in line and begin with the write lock (a transaction that reads first
 * and writes later can be refused at once). While another process holds that lock they wait here, and not in the driver,
 * which would stop every timer and socket of this process. The others use a pool, and write at READ COMMITTED.
 */
export class Store {
  readonly dialect: StoreDialect;
  /** The kinds that are written back into the ERP: transactions mark the records of these kinds that they change (`markDue`). */
  writeBackKinds: ReadonlySet<WriteBackKind> = new Set();
  /**
   * After so long without an answer to a statement its connection is cut: a firewall may have forgotten it, and nothing else
   * would ever end the wait. A command may have to read or change everything; no statement of a daemon does.
   */
  answerWithinMs = 11 * 60_000;
  /** Puts on record that the store went back under this process, so that no process delivers; see `refuseOlderStore`. */
  onWentBack: (() => Promise<void>) | null = null;
  /** Ends a process that would go on writing into a file that is not the store any more. */
  onMoved: ((error: StoreMoved) => void) | null = null;
  readonly #line: Line;
  readonly #open: () => StoreSession;

  constructor(private readonly dataSource: DataSource) {
    this.dialect = dialectOfSource(dataSource);
    this.#line = new Line(this.dialect.connections);
    this.#open = this.dialect.sessions?.(dataSource) ?? (() => runnerSession(dataSource, this));
  }

  /** Runs `work` in one transaction; reruns all of it when the database asks for that. `work` must have no other effects. */
  async transaction<T>(action: string, work: (tx: Tx) => Promise<T>): Promise<T> {
    try {
      return await this.#inLine(() =>
        this.#withSession(action, (session) =>
          transact(session, this.dialect, (ends, onFailure) => work(txOf(this, session, ends, onFailure))),
        ),
      );
    } catch (error) {
      if (error instanceof StoreWentBack) await this.onWentBack?.();
      throw error;
    }
  }

  /** Runs one statement that writes, and is whole by itself: BEGIN and COMMIT around it would be two or three more. */
  async statement<T>(action: string, work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#inLine(() => this.#withSession(action, (session) => work(txOf(this, session))));
  }

  /** Runs SELECTs outside of a transaction. */
  async read<T>(action: string, work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#inLine(() => this.#withSession(action, (session) => work(txOf(this, session))));
  }

  /**
   * Runs SELECTs that all see one moment, however long they take, and block no writer. A snapshot, if the database can
   * (`beginSnapshot`).
   */
  async snapshot<T>(action: string, work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#withSession(action, async (session) => {
      for (const statement of this.dialect.beginSnapshot ?? []) await session.query(statement, []);
      try {
        return await work(txOf(this, session));
      } finally {
        await rollBack(session);
      }
    });
  }

  async close(): Promise<void> {
    await this.#line.idle();
    if (this.dataSource.isInitialized) await this.dataSource.destroy();
  }

  async #inLine<T>(work: () => Promise<T>): Promise<T> {
    // A transaction that waits for another one behind itself would wait for ever; on a pool it would escape the rollback.
    if (storesInside === null) return this.#line.run(work);
    const guard = storesInside;
    const inside = guard.getStore() ?? [];
    if (inside.includes(this)) throw new Error('A store call inside a store transaction: use its tx instead.');
    return this.#line.run(() => guard.run([...inside, this], work));
  }

  async #withSession<T>(action: string, work: (session: StoreSession) => Promise<T>): Promise<T> {
    const begunAt = performance.now();
    const moved = this.dialect.movedFile?.(this.dataSource) ?? null;
    if (moved !== null) {
      const error = new StoreMoved(moved);
      this.onMoved?.(error);
      throw error;
    }
    for (let tries = 1; ; tries++) {
      const session = this.#open();
      try {
        return await work(session);
      } catch (error) {
        if (!mayRunAgain(this.dialect, error, tries, performance.now() - begunAt))
          throw StoreError.wrap(this.dataSource, action, error);
      } finally {
        // A session that is not released keeps its connection for ever.
        await session.release();
      }
      await sleep(Math.random() * 20 * Math.min(tries, maxTries));
    }
  }
}

/** A connection of TypeORM's pool. */
function runnerSession(dataSource: DataSource, limits: Pick<Store, 'answerWithinMs'>): StoreSession {
  const runner = dataSource.createQueryRunner();
  const { bind, parameter, cut } = dialectOfSource(dataSource);
  let connection: object | undefined;
  return {
    async query(sql, parameters, nameOf) {
      // Once: a runner whose connection has broken would take another one from the pool, and never give it back.
      connection ??= await runner.connect();
      const work = runner.query(bind(sql), parameters.map(parameter), true);
      const result = await inTime(work, limits.answerWithinMs, () => {
        if (connection) cut?.(connection);
        return new SilentServer(limits.answerWithinMs);
      });
      return nameOf ? { ...result, records: renamed(result.records, nameOf) } : result;
    },
    release: () => runner.release(),
  };
}

class SilentServer extends Error {
  /** As the errors of TypeORM have the driver's own. */
  readonly driverError: DriverError;

  constructor(limitMs: number) {
    super(`it has not answered for ${Math.round(limitMs / 1000)} s, so the connection was cut`);
    this.driverError = { message: this.message, code: 'ETIMEDOUT' };
  }
}

/**
 * @param ends is filled with what is to be called at the end
 * @param onFailure is told of each statement that fails, whatever the caller makes of it
 */
function txOf(store: Store, session: StoreSession, ends: End[] = [], onFailure?: (error: unknown) => void): Tx {
  const { dialect, writeBackKinds } = store;
  const run = async (sql: string, parameters: readonly SqlValue[] = [], nameOf?: (column: string) => string) => {
    try {
      return await session.query(sql, parameters, nameOf);
    } catch (error) {
      onFailure?.(error);
      throw error;
    }
  };
  const select = async (sql: string, parameters?: readonly SqlValue[]) => (await run(sql, parameters)).records;
  return {
    dialect,
    forUpdate: dialect.forUpdate,
    forShare: dialect.forShare,
    skipLocked: dialect.skipLocked,
    nowMs: dialect.nowMs,
    storeKey: store,
    onEnd: (end) => void ends.push(end),
    writeBackKinds,
    rows: async (sql, parameters) => (await run(sql, parameters, camelName)).records,
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

/** Rows of one result, which have the same columns: copies of a blank one, as `RowShape` in sqlite.ts says. */
function renamed(rows: Record<string, SqlValue>[], nameOf: (column: string) => string): Record<string, SqlValue>[] {
  const blank = Object.fromEntries(Object.keys(rows[0] ?? {}).map((column) => [nameOf(column), null]));
  return rows.map((row) => {
    const named: Record<string, SqlValue> = { ...blank };
    for (const column in row) named[nameOf(column)] = row[column] as SqlValue;
    return named;
  });
}
