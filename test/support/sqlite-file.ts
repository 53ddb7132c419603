/** A SQLite file of the ERP or of the store, as another program would open it. Waits five seconds for a lock. */
export { openSqlite, type SqliteFile } from '../../src/db/sqlite/driver.js';
