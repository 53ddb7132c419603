import { DatabaseErpReader } from './database-erp-reader.js';
import type { ErpReader } from './erp-reader.js';
import type { ErpSource } from './erp-source.js';
import { MysqlErp } from './mysql-erp.js';
import { SqliteErp } from './sqlite-erp.js';

/**
 * The reader of the configured ERP. Nothing is connected yet: the first read does that, and every later one again after
 * a failure. `erp.password` is resolved already.
 */
export function openErpReader(settings: ErpSource): ErpReader {
  const database = settings.erp.type === 'mysql' ? new MysqlErp(settings.erp) : new SqliteErp(settings.erp);
  return new DatabaseErpReader(database, settings);
}
