import type { Settings } from '../../config/settings.js';
import type { ErpDatabase, ErpDialect, WritableErpDatabase } from '../erp-database.js';
import { MysqlErp, mysqlDialect } from './mysql-erp.js';
import { MysqlErpWriter } from './mysql-erp-writer.js';
import { PostgresErp, postgresDialect } from './postgres-erp.js';
import { PostgresErpWriter } from './postgres-erp-writer.js';
import { SqliteErp, sqliteDialect } from './sqlite-erp.js';
import { SqliteErpWriter } from './sqlite-erp-writer.js';

type Erp = Settings['erp'];

interface ErpKind<Type extends Erp['type']> {
  dialect: ErpDialect;
  reader(erp: Extract<Erp, { type: Type }>): ErpDatabase;
  writer(erp: Extract<Erp, { type: Type }>, writeBack: Settings['writeBack']): WritableErpDatabase;
}

/** Every kind of database that an ERP may lie in. */
const kinds: { [Type in Erp['type']]: ErpKind<Type> } = {
  mysql: {
    dialect: mysqlDialect,
    reader: (erp) => new MysqlErp(erp),
    writer: (erp, writeBack) => new MysqlErpWriter(erp, writeBack),
  },
  postgres: {
    dialect: postgresDialect,
    reader: (erp) => new PostgresErp(erp),
    writer: (erp, writeBack) => new PostgresErpWriter(erp, writeBack),
  },
  sqlite: {
    dialect: sqliteDialect,
    reader: (erp) => new SqliteErp(erp),
    writer: (erp, writeBack) => new SqliteErpWriter(erp, writeBack),
  },
};

export const dialectOf = (type: Erp['type']): ErpDialect => kinds[type].dialect;

/** The connection that reads. It is made with the first read, and again after a failure. */
export const erpDatabase = (erp: Erp): ErpDatabase => (kinds[erp.type] as ErpKind<Erp['type']>).reader(erp);

/** The connection that writes, with the account of the write-back. */
export const writableErpDatabase = (erp: Erp, writeBack: Settings['writeBack']): WritableErpDatabase =>
  (kinds[erp.type] as ErpKind<Erp['type']>).writer(erp, writeBack);
