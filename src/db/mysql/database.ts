import type { Database } from '../databases.js';
import type { ServerErp } from '../server.js';
import { MysqlErp, mysqlDialect } from './mysql-erp.js';
import { MysqlErpWriter } from './mysql-erp-writer.js';
import { mysql } from './mysql-store.js';

/** MySQL and MariaDB. */
export const database: Database<ServerErp> = {
  store: mysql,
  dialect: mysqlDialect,
  reader: (erp) => new MysqlErp(erp),
  writer: (erp, writeBack) => new MysqlErpWriter(erp, writeBack),
};
