import { DatabaseSync, enhance } from '@photostructure/sqlite';

export type SqliteFile = ReturnType<typeof openSqlite>;

/** A SQLite file of the ERP or of the store, as another program would open it. Waits five seconds for a lock. */
export function openSqlite(file: string, options: { readOnly?: boolean; timeout?: number } = {}) {
  return enhance(new DatabaseSync(file, { timeout: 5000, ...options }));
}
