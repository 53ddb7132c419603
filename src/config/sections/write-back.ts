import type { z } from 'zod';
import { parseNamedParameters, pickingParameters } from '../../model/named-parameters.js';
import { clearPendingColumns, writeBackColumns, writeBackKinds } from '../../model/write-back.js';
import { type Partly, type Report, requireSetting } from '../configuration-error.js';
import type { CustomersSettings } from './customers.js';
import { backslashEscapes } from './database-kinds.js';
import { checkServerTls, databaseTls, onServer } from './database-server.js';
import type { ErpSettings } from './erp.js';
import type { OrdersSettings } from './orders.js';
import { flag, group, positive, query, secret, secretFile, text, textLike, whole } from './value-types.js';

const shape = (table: string, what: string, gone: string) => ({
  enabled: flag(true, `false: no ${what} are written back.`),
  table: textLike(/^[A-Za-z0-9_]{1,64}$/, 'letters, digits and underscores')
    .default(table)
    .describe('Side table; `waybill erp side-tables` prints how to create it. Not used where `upsert` is given.'),
  upsert: query
    .optional()
    .describe(
      'Statement of your own instead of the side table, run for each record with named parameters (docs/write-back.md). It may run twice for the same state.',
    ),
  gone: query.optional().describe(gone),
});

const ofRecords = (table: string, what: string) =>
  group(`Where ${what} are written.`, {
    ...shape(table, what, goneRecord),
    clearPending: query
      .optional()
      .describe(
        `Statement that sets back the flag by which ${what} are pending, once the service has acknowledged what a row says. It has to compare \`:changed_at\` (docs/write-back.md).`,
      ),
  });

const goneRecord =
  'Statement for a record of which nothing is known any more, such as one whose parked message is resolved. Absent: `upsert` with NULL in everything but the key.';

export const writeBackSettings = group(
  'What is written back into the ERP, through an account of its own. Off unless you switch it on.',
  {
    enabled: flag(false, 'true: the ERP is told what became of its records.'),
    host: text.optional().describe('Server to write to. Default: erp.host.'),
    port: whole(1, 65_535).optional().describe('Port of that server. Default: erp.port.'),
    database: text.optional().describe('Database to write to. Default: erp.database.'),
    user: text
      .optional()
      .describe('An account of its own, with no more than the grants that `waybill erp side-tables` prints.'),
    password: secret.optional().describe('Password of that account. Only from the environment; prefer passwordFile.'),
    passwordFile: secretFile('the password', 'write-back-password'),
    tls: databaseTls('write-back-tls-key').describe(
      'Secure connection to that server. Where writeBack.host is not set, what is not given here is as in erp.tls.',
    ),
    batchSize: whole(1, 1000, 'records').default(200).describe('Records written in one transaction.'),
    timeoutSeconds: positive(60)
      .default(20)
      .describe(
        'Longest time one statement may take. After that its transaction is rolled back and tried again later.',
      ),
    sweepHours: positive(8760)
      .default(24)
      .describe('How often everything is compared with what was written, not only what is known to have changed.'),
    orders: ofRecords('waybill_orders', 'orders'),
    customers: ofRecords('waybill_customers', 'customers'),
    invoices: group(
      'Where invoices are written.',
      shape(
        'waybill_invoices',
        'invoices',
        'Statement for an invoice that is no longer listed. Absent: `upsert`, with no_longer_listed_at.',
      ),
    ),
  },
);

export type WriteBackSettings = z.output<typeof writeBackSettings>;
export type WriteBackTarget = WriteBackSettings['invoices'];

/** The settings that are checked together. */
type Relevant = Partly<{
  writeBack: WriteBackSettings;
  erp: ErpSettings;
  orders: OrdersSettings;
  customers: CustomersSettings;
}>;

/** The account that writes is never the one that reads, and a statement names only parameters that exist. */
export function checkWriteBack({ writeBack, erp, orders, customers }: Relevant, report: Report): void {
  if (writeBack?.enabled !== true) return;
  const server = onServer(erp);
  if (server !== undefined) {
    const why = 'an account of its own, because writeBack.enabled is true';
    requireSetting(writeBack.user, 'writeBack.user', why, report);
    const { host, tls } = writeBack;
    const place = host === undefined ? { host: server.host, tls: { ...server.tls, ...tls } } : writeBack;
    checkServerTls('writeBack', place, report);
    const isSamePlace =
      (writeBack.host ?? server.host) === server.host && (writeBack.port ?? server.port) === server.port;
    if (writeBack.user !== undefined && writeBack.user === server.user && isSamePlace)
      report('writeBack.user', 'is the account that reads the ERP', {
        found: writeBack.user,
        allowed: 'another account than erp.user, which may only SELECT',
      });
  }
  checkClearPending({ writeBack, erp, orders, customers }, report);
  for (const kind of writeBackKinds) {
    const target = writeBack[kind];
    if (target?.enabled === false) continue;
    if (target?.gone !== undefined && target.upsert === undefined)
      report(`writeBack.${kind}.gone`, 'is given without upsert', {
        allowed: 'both statements, or neither and the side table',
      });
    const keyColumns = { orders: orders?.key, customers: customers?.key, invoices: undefined }[kind] ?? [];
    const known: string[] = [...writeBackColumns[kind], ...keyParameters(keyColumns)];
    for (const name of ['upsert', 'gone'] as const) {
      const statement = target?.[name];
      if (statement === undefined) continue;
      const path = `writeBack.${kind}.${name}`;
      checkParameters(path, statement, known, backslashEscapes(erp?.type), report);
      checkPicksRecord({ path, statement, keyName: known[0] ?? '', keyColumns }, backslashEscapes(erp?.type), report);
    }
  }
}

interface OwnStatement {
  path: string;
  statement: string;
  /** The parameter that is the whole key. */
  keyName: string;
  keyColumns: readonly string[];
}

/** A statement that does not compare the key would write to the rows of other records. */
function checkPicksRecord(
  { path, statement, keyName, keyColumns }: OwnStatement,
  escapes: boolean,
  report: Report,
): void {
  const picks = pickingParameters(statement, escapes);
  const parts = keyParameters(keyColumns);
  if (picks.includes(keyName) || (parts.length > 0 && parts.every((name) => picks.includes(name)))) return;
  const all = parts.length > 1 ? `, or all of ${parts.map((name) => `:${name}`).join(', ')}` : '';
  report(path, 'would write to other records than its own', { hint: `compare the key in WHERE: :${keyName}${all}` });
}

const keyParameters = (columns: readonly string[] = []) => columns.map((_, index) => `key_${index + 1}`);

function checkParameters(
  path: string,
  statement: string,
  known: readonly string[],
  escapes: boolean,
  report: Report,
): void {
  const { names } = parseNamedParameters(statement, escapes);
  const unknown = names.filter((parameter) => !known.includes(parameter));
  if (unknown.length > 0)
    report(path, 'has parameters that nothing fills', {
      found: unknown.map((parameter) => `:${parameter}`).join(', '),
      allowed: known.map((parameter) => `:${parameter}`).join(', '),
    });
}

/** A flag is only set back for a row that still says what was acknowledged: the statement has to compare when it changed. */
function checkClearPending({ writeBack, erp, orders, customers }: Relevant, report: Report): void {
  for (const [kind, source] of [
    ['orders', orders],
    ['customers', customers],
  ] as const) {
    const statement = writeBack?.[kind]?.clearPending;
    if (statement === undefined || writeBack?.[kind]?.enabled === false) continue;
    const path = `writeBack.${kind}.clearPending`;
    for (const name of ['pending', 'changedAt'] as const)
      requireSetting(source?.[name], `${kind}.${name}`, `given, because ${path} is`, report);
    const known = [...clearPendingColumns[kind], ...keyParameters(source?.key)];
    checkParameters(path, statement, known, backslashEscapes(erp?.type), report);
    const keyColumns = source?.key ?? [];
    checkPicksRecord({ path, statement, keyName: known[0] ?? '', keyColumns }, backslashEscapes(erp?.type), report);
    if (!pickingParameters(statement, backslashEscapes(erp?.type)).includes('changed_at'))
      report(path, 'would set back the flag of a row that has changed again', {
        hint: `compare ${kind}.changedAt, such as: … AND ${source?.changedAt ?? 'updated_at'} = :changed_at`,
      });
  }
}
