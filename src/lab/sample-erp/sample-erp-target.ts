import Database from 'better-sqlite3';
import type { Connection } from 'mysql2/promise';

/** Where a sample ERP is kept: a SQLite file, or the database of an open MySQL or MariaDB connection. */
export type SampleErpTarget = { type: 'sqlite'; file: string } | { type: 'mysql'; connection: Connection };

export type SampleValue = string | number | null;

/** What the generator and the changes need of a database. */
export interface SampleErpDatabase {
  run(sql: string, values?: readonly SampleValue[]): Promise<void>;
  /** One row, as an array of texts. */
  get(sql: string, values?: readonly SampleValue[]): Promise<string[] | null>;
}

/** Runs changes in one transaction: all of them are seen, or none. */
export async function withSampleErp<T>(
  target: SampleErpTarget,
  change: (database: SampleErpDatabase) => Promise<T>,
): Promise<T> {
  return target.type === 'sqlite' ? withSqlite(target.file, change) : withMysql(target.connection, change);
}

async function withSqlite<T>(file: string, change: (database: SampleErpDatabase) => Promise<T>): Promise<T> {
  const database = new Database(file, { timeout: 5000 });
  try {
    database.exec('BEGIN IMMEDIATE');
    const result = await change({
      async run(sql, values = []) {
        database.prepare(sql).run(...values);
      },
      async get(sql, values = []) {
        const row = database
          .prepare(sql)
          .raw(true)
          .get(...values) as unknown[] | undefined;
        return row?.map(String) ?? null;
      },
    });
    database.exec('COMMIT');
    return result;
  } finally {
    database.close();
  }
}

async function withMysql<T>(connection: Connection, change: (database: SampleErpDatabase) => Promise<T>): Promise<T> {
  await connection.query('START TRANSACTION');
  try {
    const result = await change({
      async run(sql, values = []) {
        await connection.query(sql, [...values]);
      },
      async get(sql, values = []) {
        const [rows] = await connection.query<never>({ sql, rowsAsArray: true }, [...values]);
        return (rows as unknown[][])[0]?.map(String) ?? null;
      },
    });
    await connection.query('COMMIT');
    return result;
  } catch (error) {
    await connection.query('ROLLBACK').catch(() => {});
    throw error;
  }
}
