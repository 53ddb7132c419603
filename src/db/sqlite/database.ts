import type { Database } from '../databases.js';
import { SqliteErp, type SqliteSettings, sqliteDialect } from './sqlite-erp.js';
import { SqliteErpWriter } from './sqlite-erp-writer.js';
import { sqlite } from './sqlite-store.js';

export const database: Database<SqliteSettings> = {
  store: sqlite,
  dialect: sqliteDialect,
  reader: (erp) => new SqliteErp(erp),
  writer: (erp, writeBack) => new SqliteErpWriter(erp, writeBack),
};
