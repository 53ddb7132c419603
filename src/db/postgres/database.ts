import type { Database } from '../databases.js';
import type { ServerErp } from '../server.js';
import { PostgresErp, postgresDialect } from './postgres-erp.js';
import { PostgresErpWriter } from './postgres-erp-writer.js';
import { postgres } from './postgres-store.js';

export const database: Database<ServerErp> = {
  store: postgres,
  dialect: postgresDialect,
  reader: (erp) => new PostgresErp(erp),
  writer: (erp, writeBack) => new PostgresErpWriter(erp, writeBack),
};
