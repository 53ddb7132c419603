import Database from 'better-sqlite3';
import type { Connection } from 'mysql2/promise';

/** Where a sample ERP is kept: a SQLite file, or the database of an open MySQL or MariaDB connection. */
export type SampleErpTarget = { type: 'sqlite'; file: string } | { type: 'mysql'; connection: Connection };

export type SampleValue = string | number | null;

/** What the generator and the changes need of a database. */
export interface SampleErpDatabase {
  run(sql: string, values?: readonly SampleValue[]): Promise<void>;
  /** The first column of the first row. */
  value(sql: string): Promise<unknown>;
}

/** Runs changes in one transaction: all of them are seen, or none. */
export async function withSampleErp<T>(
  target: SampleErpTarget,
  change: (database: SampleErpDatabase) => Promise<T>,
): Promise<T> {
  const database = target.type === 'sqlite' ? openSqlite(target.file) : borrowMysql(target.connection);
  try {
    await database.run(database.begin);
    const result = await change(database);
    await database.run('COMMIT');
    return result;
  } catch (error) {
    await database.run('ROLLBACK').catch(() => {});
    throw error;
  } finally {
    database.close();
  }
}

interface OpenDatabase extends SampleErpDatabase {
  begin: string;
  close(): void;
}

function openSqlite(file: string): OpenDatabase {
  const sqlite = new Database(file, { timeout: 5000 });
  return {
    begin: 'BEGIN IMMEDIATE',
    run: async (sql, values = []) => void sqlite.prepare(sql).run(...values),
    value: async (sql) => sqlite.prepare(sql).pluck().get(),
    close: () => sqlite.close(),
  };
}

function borrowMysql(connection: Connection): OpenDatabase {
  return {
    begin: 'START TRANSACTION',
    run: async (sql, values = []) => void (await connection.query(sql, [...values])),
    value: async (sql) => {
      const [rows] = await connection.query<never>({ sql, rowsAsArray: true });
      return (rows as unknown[][])[0]?.[0];
    },
    // The connection is the caller's to close.
    close: () => {},
  };
}
