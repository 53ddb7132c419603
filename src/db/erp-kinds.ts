import type { Settings } from '../config/settings.js';
import type { ErpDatabase, ErpDialect, WritableErpDatabase } from './erp-database.js';

type Erp = Settings['erp'];

interface ErpKind<Type extends Erp['type']> {
  dialect(): Promise<ErpDialect>;
  reader(erp: Extract<Erp, { type: Type }>): Promise<ErpDatabase>;
  writer(erp: Extract<Erp, { type: Type }>, writeBack: Settings['writeBack']): Promise<WritableErpDatabase>;
}

/** Every kind of database that an ERP may lie in. Loaded when it is used: a driver takes a tenth of a command's start. */
const kinds: { [Type in Erp['type']]: ErpKind<Type> } = {
  mysql: {
    dialect: async () => (await import('./mysql/mysql-erp.js')).mysqlDialect,
    reader: async (erp) => new (await import('./mysql/mysql-erp.js')).MysqlErp(erp),
    writer: async (erp, writeBack) => new (await import('./mysql/mysql-erp-writer.js')).MysqlErpWriter(erp, writeBack),
  },
  postgres: {
    dialect: async () => (await import('./postgres/postgres-erp.js')).postgresDialect,
    reader: async (erp) => new (await import('./postgres/postgres-erp.js')).PostgresErp(erp),
    writer: async (erp, writeBack) =>
      new (await import('./postgres/postgres-erp-writer.js')).PostgresErpWriter(erp, writeBack),
  },
  sqlite: {
    dialect: async () => (await import('./sqlite/sqlite-erp.js')).sqliteDialect,
    reader: async (erp) => new (await import('./sqlite/sqlite-erp.js')).SqliteErp(erp),
    writer: async (erp, writeBack) =>
      new (await import('./sqlite/sqlite-erp-writer.js')).SqliteErpWriter(erp, writeBack),
  },
};

export const dialectOf = (type: Erp['type']): Promise<ErpDialect> => kinds[type].dialect();

/** The connection that reads. It is made with the first read, and again after a failure. */
export const erpDatabase = (erp: Erp): Promise<ErpDatabase> => (kinds[erp.type] as ErpKind<Erp['type']>).reader(erp);

/** The connection that writes, with the account of the write-back. */
export const writableErpDatabase = (erp: Erp, writeBack: Settings['writeBack']): Promise<WritableErpDatabase> =>
  (kinds[erp.type] as ErpKind<Erp['type']>).writer(erp, writeBack);
