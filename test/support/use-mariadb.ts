import type { MariaDb } from './mariadb.js';
import type { TestDatabase } from './mariadb-database.js';
import { sharedMariaDb } from './shared-servers.js';

const START_TIMEOUT_MS = 90_000;

/** Filled before the first test of the describe block runs. */
export interface MariaDbHandle {
  readonly server: MariaDb;
  readonly database: TestDatabase;
}

/**
 * Called inside a describe block: gives its tests an empty database on the shared server, dropped after the last.
 * A block that needs two databases (an ERP and a store) calls it twice.
 */
export function useMariaDb(): MariaDbHandle {
  let server: MariaDb | undefined;
  let database: TestDatabase | undefined;

  before(async function () {
    // The first to ask waits for the server's start, which on a busy machine takes its time.
    this.timeout(START_TIMEOUT_MS);
    server = await sharedMariaDb();
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
  if (value === undefined) throw new Error('useMariaDb() has a database only while tests and their hooks run.');
  return value;
}
