import { randomBytes } from 'node:crypto';
import { type Client, escapeIdentifier } from 'pg';

/** The server's needs for creating databases and accounts. */
interface RootAccess {
  readonly host: '127.0.0.1';
  readonly port: number;
  connect(database?: string): Promise<Client>;
}

export interface TestUser {
  host: '127.0.0.1';
  port: number;
  user: string;
  password: string;
  drop(): Promise<void>;
}

/** An empty database of one's own, with the account that owns it and has nothing elsewhere. */
export interface TestDatabase extends TestUser {
  database: string;
  /** Runs SQL as root in this database, several statements if there are no values. Returns the last one's rows. */
  // biome-ignore lint/suspicious/noExplicitAny: the test names what it selects
  query<Row = any>(sql: string, values?: unknown[]): Promise<Row[]>;
  /** An account with exactly these grants here, each as in `SELECT ON orders` or `UPDATE (mark) ON orders`. */
  createUser(grants: readonly string[]): Promise<TestUser>;
}

export async function createTestDatabase(
  server: RootAccess,
  name = `waybill_${randomBytes(6).toString('hex')}`,
): Promise<TestDatabase> {
  const owner = await createTestUser(server);
  const database = escapeIdentifier(name);
  await runAsRoot(server, undefined, [`CREATE DATABASE ${database} OWNER ${owner.user}`]);
  return {
    ...owner,
    database: name,
    async query<Row>(sql: string, values?: unknown[]): Promise<Row[]> {
      const client = await server.connect(name);
      try {
        const result = await client.query(sql, values);
        return (Array.isArray(result) ? result.at(-1) : result).rows;
      } finally {
        await client.end();
      }
    },
    createUser: (grants) => createTestUser(server, grants, name),
    async drop() {
      await runAsRoot(server, undefined, [`DROP DATABASE IF EXISTS ${database} WITH (FORCE)`]);
      await owner.drop();
    },
  };
}

export async function createTestUser(
  server: RootAccess,
  grants: readonly string[] = [],
  database?: string,
): Promise<TestUser> {
  const user = `user_${randomBytes(6).toString('hex')}`;
  const password = randomBytes(12).toString('hex');
  await runAsRoot(server, database, [
    `CREATE ROLE ${user} LOGIN PASSWORD '${password}'`,
    ...grants.map((grant) => `GRANT ${grant} TO ${user}`),
  ]);
  return {
    host: server.host,
    port: server.port,
    user,
    password,
    async drop() {
      // Rights are kept in the database that they are of, and hold the account; they are gone where it is gone.
      if (grants.length > 0 && (await exists(server, database)))
        await runAsRoot(server, database, [`DROP OWNED BY ${user}`]);
      await runAsRoot(server, undefined, [`DROP ROLE IF EXISTS ${user}`]);
    },
  };
}

async function exists(server: RootAccess, database: string | undefined): Promise<boolean> {
  const rows = await runAsRoot(server, undefined, [`SELECT 1 FROM pg_database WHERE datname = '${database}'`]);
  return rows.length > 0;
}

async function runAsRoot(server: RootAccess, database: string | undefined, statements: string[]): Promise<unknown[]> {
  const client = await server.connect(database);
  try {
    let rows: unknown[] = [];
    for (const statement of statements) rows = (await client.query(statement)).rows;
    return rows;
  } finally {
    await client.end();
  }
}
