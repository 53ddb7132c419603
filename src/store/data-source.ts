// The package's index has Node read three hundred files to learn their names: a tenth of what a start costs.
import { DataSource } from 'typeorm/data-source/DataSource.js';
import type { StoreSettings } from '../config/sections/store.js';
import { storeDialect } from '../db/databases.js';
import { migrations } from './migration-list.js';

/**
 * TypeORM's data source for the store. Not yet connected; the schema comes from migrations alone, never from `synchronize`.
 * A SQLite file is created with mode 0600, unless it is only to be read.
 */
export async function storeDataSource(settings: StoreSettings, readOnly = false): Promise<DataSource> {
  const loaded = await Promise.all((readOnly ? [] : migrations).map(({ load }) => load()));
  const common = {
    migrations: loaded,
    migrationsTableName: 'migration',
    synchronize: false,
    logging: false,
  } as const;
  return new DataSource({ ...(await storeDialect(settings)).options(settings, readOnly), ...common });
}
