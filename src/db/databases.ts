import type { DataSource } from 'typeorm';
import type { Settings } from '../config/settings.js';
import type { ErpDatabase, ErpDialect, WritableErpDatabase } from './erp-database.js';
import type { StoreDialect } from './store-dialect.js';

type Erp = Settings['erp'];
type Kind = Erp['type'] | Settings['store']['type'];

/** One kind of database, to the three that use it. `Place` is its form of the settings. */
export interface Database<Place extends Erp = Erp> {
  store: StoreDialect;
  dialect: ErpDialect;
  reader(erp: Place): ErpDatabase;
  writer(erp: Place, writeBack: Settings['writeBack']): WritableErpDatabase;
}

/** Each kind is the file `database.ts` of its folder, which is loaded when it is used: a driver takes a tenth of a command's start. */
async function databaseOf(kind: Kind): Promise<Database> {
  const { database } = (await import(`./${kind}/database.js`)) as { database: Database };
  return database;
}

export const erpDialect = async (kind: Erp['type']): Promise<ErpDialect> => (await databaseOf(kind)).dialect;

/** The connection that reads. It is made with the first read, and again after a failure. */
export const erpDatabase = async (erp: Erp): Promise<ErpDatabase> => (await databaseOf(erp.type)).reader(erp);

/** The connection that writes, with the account of the write-back. */
export const writableErpDatabase = async (erp: Erp, writeBack: Settings['writeBack']): Promise<WritableErpDatabase> =>
  (await databaseOf(erp.type)).writer(erp, writeBack);

/** The dialects of the stores that this process has opened, by TypeORM's name for them. */
const dialects = new Map<DataSource['options']['type'], StoreDialect>();

export async function storeDialect({ type }: Pick<Settings['store'], 'type'>): Promise<StoreDialect> {
  const { store } = await databaseOf(type);
  dialects.set(store.driver, store);
  return store;
}

/** @param source made with the options of its dialect */
export function dialectOfSource({ options }: DataSource): StoreDialect {
  const dialect = dialects.get(options.type);
  if (dialect === undefined) throw new Error('No dialect knows this database.');
  return dialect;
}
