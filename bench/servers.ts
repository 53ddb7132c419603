import { type MariaDb, startMariaDb } from '../test/support/mariadb.js';
import { ensure } from '../test/support/needed-programs.js';
import { type Postgres, startPostgres } from '../test/support/postgres.js';
import { type Redis, startRedis } from '../test/support/redis.js';
import type { DrainTask, StoreWork } from './drain/task.js';

/** An empty database of one's own on a private server. */
export interface Place {
  database: NonNullable<DrainTask['database']>;
  query?(sql: string): Promise<unknown>;
  /** The work of the server so far. */
  work(): Promise<StoreWork | undefined>;
  /** The server's time for this database so far. */
  busyMs?(): Promise<number>;
  drop(): Promise<void>;
  /** PostgreSQL does it by itself, a while after many rows have come. */
  vacuum?(): Promise<unknown>;
}

/** Private servers, started when a contender first needs one. */
export class Servers implements AsyncDisposable {
  #mariaDb: MariaDb | undefined;
  #postgres: Postgres | undefined;
  #redis: Redis | undefined;

  async placeFor(name: string): Promise<Place | undefined> {
    if (name === 'waybill-mariadb') return this.#inMariaDb();
    if (name === 'waybill-postgres' || name === 'pg-boss') return this.#inPostgres();
    return name === 'bullmq' ? this.#inRedis() : undefined;
  }

  async #inMariaDb(): Promise<Place> {
    ensure('mariadb');
    // The tests' redo log of 32 MB, a third of MariaDB's own default, is full every few seconds of a drain.
    const memory = ['--innodb-buffer-pool-size=512M', '--innodb-log-file-size=512M'];
    this.#mariaDb ??= await startMariaDb({ arguments: [...memory, '--userstat=1'] });
    const database = await this.#mariaDb.createDatabase();
    const server = this.#mariaDb;
    return {
      database,
      query: (sql) => database.query(sql),
      drop: () => database.drop(),
      busyMs: async () => {
        const connection = await server.connect();
        const [rows] = await connection.query(
          'SELECT busy_time*1000 AS ms FROM information_schema.user_statistics WHERE user=?',
          [database.user],
        );
        await connection.end();
        return Number((rows as { ms: number }[])[0]?.ms ?? 0);
      },
      work: async () => {
        const connection = await server.connect();
        const [rows] = await connection.query(
          "SHOW GLOBAL STATUS WHERE Variable_name REGEXP '^(questions|com_commit|handler_(write|update|delete))$'",
        );
        await connection.end();
        const of = new Map(
          (rows as { Variable_name: string; Value: string }[]).map((row) => [row.Variable_name, Number(row.Value)]),
        );
        const rowWrites = [...of]
          .filter(([key]) => key.startsWith('Handler'))
          .reduce((sum, [, value]) => sum + value, 0);
        return { statements: of.get('Questions') ?? 0, commits: of.get('Com_commit') ?? 0, rowWrites };
      },
    };
  }

  async #inPostgres(): Promise<Place> {
    ensure('postgres');
    this.#postgres ??= await startPostgres({ settings: ['shared_buffers=256MB'] });
    const database = await this.#postgres.createDatabase();
    return {
      database,
      query: (sql) => database.query(sql),
      busyMs: async () => {
        await database.query('SELECT pg_stat_force_next_flush(), pg_stat_clear_snapshot()');
        const [row] = await database.query(
          'SELECT active_time AS ms FROM pg_stat_database WHERE datname = current_database()',
        );
        return Number(row.ms);
      },
      vacuum: () => database.query('VACUUM ANALYZE'),
      drop: () => database.drop(),
      work: async () => {
        await database.query('SELECT pg_stat_force_next_flush(), pg_stat_clear_snapshot()');
        const [row] = await database.query(
          'SELECT xact_commit AS commits, tup_inserted + tup_updated + tup_deleted AS rows FROM pg_stat_database WHERE datname = current_database()',
        );
        return { statements: Number.NaN, commits: Number(row.commits), rowWrites: Number(row.rows) };
      },
    };
  }

  async redis(): Promise<Redis> {
    ensure('redis');
    this.#redis ??= await startRedis();
    return this.#redis;
  }

  async #inRedis(): Promise<Place> {
    const redis = await this.redis();
    const { host, port, password } = redis;
    return {
      database: { host, port, password, user: '', database: '' },
      work: async () => undefined,
      drop: () => redis.empty(),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#mariaDb?.stop();
    await this.#postgres?.stop();
    await this.#redis?.stop();
  }
}
