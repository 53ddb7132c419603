import type { Settings } from '../../config/settings.js';

import type { ErpWriter } from './erp-writer.js';
import { MysqlErpWriter } from './mysql-erp-writer.js';
import { SqliteErpWriter } from './sqlite-erp-writer.js';
import { wallText } from './wall-text.js';

/** The configured ERP's writer; null where the write-back is off. Nothing is connected before the first write. */
export function openErpWriter({ erp, writeBack }: Pick<Settings, 'erp' | 'writeBack'>): ErpWriter | null {
  if (!writeBack.enabled) return null;
  const wallTime = () => wallText(Date.now(), erp.timeZone);
  return erp.type === 'mysql'
    ? new MysqlErpWriter(erp, writeBack, wallTime)
    : new SqliteErpWriter(erp, writeBack, wallTime);
}
