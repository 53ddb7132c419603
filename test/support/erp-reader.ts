import type { Settings } from '../../src/config/settings.js';
import type { Database } from '../../src/db/databases.js';
import type { ErpDatabase } from '../../src/db/erp-database.js';
import { database as mysql } from '../../src/db/mysql/database.js';
import { database as postgres } from '../../src/db/postgres/database.js';
import { database as sqlite } from '../../src/db/sqlite/database.js';
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

const databases: Record<string, Database> = { mysql, postgres, sqlite } as never;

function erpDatabaseOf(erp: Settings['erp']): ErpDatabase {
  return databases[erp.type]?.reader(erp) as ErpDatabase;
}
