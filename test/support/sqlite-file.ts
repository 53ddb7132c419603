import Database from 'better-sqlite3';

export type SqliteFile = Database.Database;

/** A SQLite file of the ERP or of the store, as another program would open it. Waits five seconds for a lock. */
export function openSqlite(file: string, options: Database.Options = {}): SqliteFile {
  return new Database(file, options);
}
