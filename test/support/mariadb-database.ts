import { randomBytes } from 'node:crypto';
import type { Connection, QueryResult, RowDataPacket } from 'mysql2/promise';

/** The server's needs for creating databases and accounts. */
interface RootAccess {
  readonly host: '127.0.0.1';
  readonly port: number;
  connect(database?: string): Promise<Connection>;
}

export interface TestUser {
  host: '127.0.0.1';
  port: number;
  user: string;
  password: string;
  drop(): Promise<void>;
}

/** An empty database of one's own, with an account that may do everything in it and nothing elsewhere. */
export interface TestDatabase extends TestUser {
  database: string;
  /** Runs SQL as root in this database, several statements if need be. DECIMAL and dates are strings. */
  query<T extends QueryResult = RowDataPacket[]>(sql: string, values?: unknown[]): Promise<T>;
  /** An account with exactly these grants here, each as in `SELECT ON orders` or `UPDATE (mark) ON orders`. */
  createUser(grants: readonly string[]): Promise<TestUser>;
}

export async function createTestDatabase(
  server: RootAccess,
  name = `waybill_${randomBytes(6).toString('hex')}`,
): Promise<TestDatabase> {
  const database = quote(name);
  await runAsRoot(server, undefined, [`CREATE DATABASE ${database}`]);
  const owner = await createTestUser(server, [`ALL PRIVILEGES ON ${escapeWildcards(database)}.*`]);
  return {
    ...owner,
    database: name,
    async query<T extends QueryResult = RowDataPacket[]>(sql: string, values: unknown[] = []): Promise<T> {
      const connection = await server.connect(name);
      try {
        const [result] = await connection.query<T>(sql, values);
        return result;
      } finally {
        await connection.end();
      }
    },
    createUser: (grants) => createTestUser(server, grants, name),
    async drop() {
      await runAsRoot(server, undefined, [`DROP DATABASE IF EXISTS ${database}`]);
      await owner.drop();
    },
  };
}

export async function createTestUser(
  server: RootAccess,
  grants: readonly string[],
  database?: string,
): Promise<TestUser> {
  const user = `user_${randomBytes(6).toString('hex')}`;
  const password = randomBytes(12).toString('hex');
  const account = `'${user}'@'127.0.0.1'`;
  await runAsRoot(server, database, [
    `CREATE USER ${account} IDENTIFIED BY '${password}'`,
    ...grants.map((grant) => `GRANT ${grant} TO ${account}`),
  ]);
  return {
    host: server.host,
    port: server.port,
    user,
    password,
    drop: () => runAsRoot(server, undefined, [`DROP USER IF EXISTS ${account}`]),
  };
}

async function runAsRoot(server: RootAccess, database: string | undefined, statements: string[]): Promise<void> {
  const connection = await server.connect(database);
  try {
    for (const statement of statements) await connection.query(statement);
  } finally {
    await connection.end();
  }
}

function quote(name: string): string {
  return `\`${name.replaceAll('`', '``')}\``;
}

/** In a grant on a whole database, `_` and `%` are wildcards, and `waybill_1` would also match `waybillx1`. */
function escapeWildcards(name: string): string {
  return name.replaceAll(/[_%]/g, '\\$&');
}
