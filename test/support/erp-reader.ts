import type { Settings } from '../../src/config/settings.js';
import type { ErpDatabase } from '../../src/db/erp-database.js';
import { MysqlErp } from '../../src/db/mysql/mysql-erp.js';
import { PostgresErp } from '../../src/db/postgres/postgres-erp.js';
import { SqliteErp } from '../../src/db/sqlite/sqlite-erp.js';
import { allSources } from '../../src/erp/all-sources.js';
import { databaseErpReader } from '../../src/erp/database-erp-reader.js';
import type { ErpReader, ErpSource } from '../../src/erp/erp-reader.js';

/** As `openSources`, at once. */
export function sourcesReaderOf(settings: Settings): ErpReader {
  const own = erpReaderOf(settings);
  if (settings.named === undefined) return own;
  return allSources(
    new Map([['', own], ...settings.named.map((one) => [one.source ?? '', erpReaderOf(one)] as const)]),
  );
}

/** As `openErpReader`, at once: tests have every driver loaded. */
export function erpReaderOf(settings: ErpSource, wrap = (database: ErpDatabase) => database): ErpReader {
  return databaseErpReader(wrap(erpDatabaseOf(settings.erp)), settings);
}

function erpDatabaseOf(erp: Settings['erp']): ErpDatabase {
  if (erp.type === 'mysql') return new MysqlErp(erp);
  return erp.type === 'postgres' ? new PostgresErp(erp) : new SqliteErp(erp);
}
