import { readFile } from 'node:fs/promises';
import { type MariaDb, startMariaDb } from '../support/mariadb.js';
import { type Postgres, startPostgres } from '../support/postgres.js';
import type { StoreKind } from './plan.js';

/** A connection as root. */
export interface Session {
  // biome-ignore lint/suspicious/noExplicitAny: the caller names what it selects
  query(sql: string): Promise<any[]>;
  end(): Promise<void>;
}

/** The server of a run: what a fault does to it and sees of it, in the words of its kind. */
export type DatabaseServer = (
  | { readonly type: 'mysql'; readonly server: MariaDb }
  | { readonly type: 'postgres'; readonly server: Postgres }
) & {
  connect(database?: string): Promise<Session>;
  /** Makes a session the one that survives a deadlock. */
  readonly surviveDeadlocks: readonly string[];
  deadlocks(session: Session): Promise<number>;
  /** Yields a row while somebody waits for a lock. Nobody else works on this server. */
  readonly someoneWaits: string;
  /** Yields `id`, `user`, and whether it is at work: `busy`. */
  readonly sessions: string;
  /** @param id of a session */
  cut(id: number): string;
  /** An empty database in the place of this one. */
  renew(database: string, owner: string): string[];
};

/** A server of its own, with databases that wait a second for a lock where they can be told to. */
export async function startDatabaseServer(store: Exclude<StoreKind, 'sqlite'>): Promise<DatabaseServer> {
  return store === 'mariadb' ? mariaDbServer() : postgresServer();
}

async function mariaDbServer(): Promise<DatabaseServer> {
  const server = await startMariaDb({ arguments: ['--innodb-lock-wait-timeout=1'] });
  return {
    type: 'mysql',
    server,
    async connect(database) {
      const connection = await server.connect(database);
      connection.on('error', () => undefined);
      return {
        query: async (sql) => (await connection.query(sql))[0] as never[],
        end: async () => connection.destroy(),
      };
    },
    // The heavier transaction survives.
    surviveDeadlocks: [
      'CREATE DATABASE IF NOT EXISTS torture',
      'CREATE TABLE IF NOT EXISTS torture.weight (n INT) ENGINE=InnoDB',
      'START TRANSACTION',
      'INSERT INTO torture.weight SELECT seq FROM seq_1_to_300',
    ],
    deadlocks: async (session) => Number((await session.query("SHOW GLOBAL STATUS LIKE 'Innodb_deadlocks'"))[0]?.Value),
    someoneWaits:
      "SELECT 1 FROM information_schema.global_status WHERE variable_name='INNODB_ROW_LOCK_CURRENT_WAITS' AND variable_value>0",
    sessions: "SELECT id, user, command<>'Sleep' AS busy FROM information_schema.processlist",
    cut: (id) => `KILL ${id}`,
    renew: (database) => [`DROP DATABASE \`${database}\``, `CREATE DATABASE \`${database}\``],
  };
}

async function postgresServer(): Promise<DatabaseServer> {
  const server = await startPostgres();
  return {
    type: 'postgres',
    server,
    async connect(database) {
      const client = await server.connect(database);
      return { query: async (sql) => (await client.query(sql)).rows, end: () => client.end() };
    },
    // The one that looks first for a deadlock is the victim.
    surviveDeadlocks: ["SET deadlock_timeout='20s'", 'START TRANSACTION'],
    deadlocks: async () => (await readFile(server.logFile, 'utf8')).split('ERROR:  deadlock detected').length - 1,
    someoneWaits: "SELECT 1 FROM pg_stat_activity WHERE wait_event_type='Lock' LIMIT 1",
    sessions:
      "SELECT pid AS id, usename AS user, state<>'idle' AS busy FROM pg_stat_activity WHERE usename IS NOT NULL",
    cut: (id) => `SELECT pg_terminate_backend(${id})`,
    renew: (database, owner) => [
      `DROP DATABASE "${database}" WITH (FORCE)`,
      `CREATE DATABASE "${database}" OWNER ${owner}`,
    ],
  };
}
