import type { Settings } from '../config/settings.js';
import { DatabaseErpReader } from './database-erp-reader.js';
import { MysqlErp } from './dialects/mysql-erp.js';
import { SqliteErp } from './dialects/sqlite-erp.js';
import type { ErpReader, ErpSource } from './erp-reader.js';
import { wallText } from './time/wall-time.js';
import type { ErpWriter } from './write-back/erp-writer.js';
import { MysqlErpWriter } from './write-back/mysql-erp-writer.js';
import { SqliteErpWriter } from './write-back/sqlite-erp-writer.js';

/**
 * The reader of the configured ERP. Nothing is connected yet: the first read does that, and every later one again after
 * a failure. `erp.password` is resolved already.
 */
export function openErpReader(settings: ErpSource): ErpReader {
  const database = settings.erp.type === 'mysql' ? new MysqlErp(settings.erp) : new SqliteErp(settings.erp);
  return new DatabaseErpReader(database, settings);
}

/** The configured ERP's writer; null where the write-back is off. Nothing is connected before the first write. */
export function openErpWriter({ erp, writeBack }: Pick<Settings, 'erp' | 'writeBack'>): ErpWriter | null {
  if (!writeBack.enabled) return null;
  const wallTime = () => wallText(Date.now(), erp.timeZone);
  return erp.type === 'mysql'
    ? new MysqlErpWriter(erp, writeBack, wallTime)
    : new SqliteErpWriter(erp, writeBack, wallTime);
}
