import { resolve } from 'node:path';
import { z } from 'zod';
import { isInFile } from '../../model/database-place.js';
import type { Partly, Report } from '../configuration-error.js';
import { fileKind } from './database-kinds.js';
import { checkServerTls, onServer, onServers, serverConnection } from './database-server.js';
import { withPemPaths } from './tls-files.js';
import { positive, text, timeZone, variants } from './value-types.js';

const erpKind = {
  description: 'Kind of database. mysql: MySQL or MariaDB. postgres: PostgreSQL. sqlite: a SQLite file.',
  hint: 'MariaDB is mysql, PostgreSQL is postgres. Waybill reads no other kind: have SQL Server, Oracle or another one copy the tables that it needs (or views of them) into one of these, and read the copy',
};

const common = {
  timeZone: timeZone.describe(
    'Time zone of the dates and times in the ERP, such as Europe/Berlin. Never guessed, because a wrong one shifts every date.',
  ),
  queryTimeoutSeconds: positive(3600)
    .default(60)
    .describe('Longest time one query may take; where the ERP can, it stops the query itself.'),
};

const meanings = {
  host: 'Server of the ERP database. On PostgreSQL a path is the folder of its local socket.',
  database: 'Name of the ERP database.',
  user: 'An account that may only SELECT.',
  credential: 'erp',
};

export const erpSettings = variants(
  'The database that Waybill reads. Nothing is written through this account; see writeBack.',
  z.discriminatedUnion('type', [
    ...onServers((kind) =>
      z.strictObject({ type: z.literal(kind).meta(erpKind), ...serverConnection(kind, meanings), ...common }),
    ),
    z.strictObject({
      type: z.literal(fileKind).meta(erpKind),
      file: text.describe('The database file, relative to the configuration folder. Waybill only reads it.'),
      ...common,
    }),
  ]),
);

export type ErpSettings = z.output<typeof erpSettings>;

export function checkErp({ erp }: Partly<{ erp: ErpSettings }>, report: Report): void {
  checkServerTls('erp', onServer(erp), report);
}

/** The ERP with absolute paths. */
export function withErpPaths(erp: ErpSettings, configDir: string): ErpSettings {
  if (isInFile(erp)) return { ...erp, file: resolve(configDir, erp.file) };
  return { ...erp, tls: withPemPaths(erp.tls, configDir) };
}
