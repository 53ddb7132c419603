import { sharedMariaDb, sharedPostgres } from './shared-servers.js';

const startTimeoutMs = 90_000;

/** Filled before the first test of the describe block runs. */
export interface Handle<Server, Database> {
  readonly server: Server;
  readonly database: Database;
}

/**
 * Called inside a describe block: gives its tests an empty database on the shared server, dropped after the last.
 * A block that needs two databases (an ERP and a store) calls it twice.
 */
export const useMariaDb = () => useDatabase(sharedMariaDb);

/** The same on PostgreSQL. */
export const usePostgres = () => useDatabase(sharedPostgres);

/** A database for a store of this kind; null where the store is a file. */
export function useServer(kind: 'sqlite' | 'mysql' | 'postgres') {
  if (kind === 'sqlite') return null;
  return kind === 'mysql' ? useMariaDb() : usePostgres();
}

export type MariaDbHandle = ReturnType<typeof useMariaDb>;
export type PostgresHandle = ReturnType<typeof usePostgres>;

function useDatabase<
  Database extends { drop(): Promise<void> },
  Server extends { createDatabase(): Promise<Database> },
>(start: () => Promise<Server & { createDatabase(): Promise<Database> }>): Handle<Server, Database> {
  let server: Server | undefined;
  let database: Database | undefined;

  before(async function () {
    // The first to ask waits for the server's start, which on a busy machine takes its time.
    this.timeout(startTimeoutMs);
    server = await start();
    database = await server.createDatabase();
  });
  after(async () => {
    await database?.drop();
    database = undefined;
  });

  return {
    get server() {
      return existing(server);
    },
    get database() {
      return existing(database);
    },
  };
}

function existing<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('There is a database only while tests and their hooks run.');
  return value;
}
