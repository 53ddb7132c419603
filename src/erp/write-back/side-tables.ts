import type { Settings } from '../../config/settings.js';
import type { ErpDialect } from '../../db/erp-database.js';
import { isInFile } from '../../model/database-place.js';
import { type WriteBackKind, writeBackColumns, writeBackKinds } from '../../model/write-back.js';

/** The SQL that an administrator of the ERP runs once. */
interface SideTables {
  /** `CREATE TABLE` for each side table that the settings use. */
  tables: string[];
  /** The statement that makes the account; null where the database knows no accounts. */
  account: string | null;
  /** The rights of the account; none if the database knows no accounts. */
  grants: string[];
  /** Kinds that go by statements of the settings, whose grants can't be known here. */
  byStatement: WriteBackKind[];
}

const columnTypes = ({ timeType }: ErpDialect): Record<string, string> => ({
  order_number: 'VARCHAR(255) NULL',
  service_order_id: 'VARCHAR(255) NULL',
  service_customer_id: 'VARCHAR(255) NULL',
  service_status: 'VARCHAR(255) NULL',
  service_total: 'DECIMAL(30,6) NULL',
  delivered_at: `${timeType} NULL`,
  parked_class: 'VARCHAR(16) NULL',
  parked_reason: 'VARCHAR(1000) NULL',
  customer_code: 'VARCHAR(255) NULL',
  amount: 'DECIMAL(30,6) NOT NULL',
  currency: 'CHAR(3) NOT NULL',
  due_date: 'DATE NOT NULL',
  status: 'VARCHAR(64) NOT NULL',
  listed_since: `${timeType} NOT NULL`,
  no_longer_listed_at: `${timeType} NULL`,
  status_when_it_left: 'VARCHAR(64) NULL',
});

/**
 * The side tables of the settings as SQL. Pure.
 * @param user the account that writes, and the host that it connects from
 */
export function sideTables(
  { erp, writeBack }: Pick<Settings, 'erp' | 'writeBack'>,
  dialect: ErpDialect,
  user: string,
  from: string,
): SideTables {
  const { account, keyType, timeType, tableOptions } = dialect;
  const types = columnTypes(dialect);
  const used = writeBackKinds.filter((kind) => writeBack[kind].enabled);
  const withTable = used.filter((kind) => writeBack[kind].upsert === undefined);
  const database = writeBack.database ?? (isInFile(erp) ? '' : erp.database);
  const nameOf = (kind: WriteBackKind) => dialect.tableIn(database, writeBack[kind].table);
  const createTable = (kind: WriteBackKind) => {
    const [key, ...others] = writeBackColumns[kind];
    const lines = [
      `${key} ${keyType} NOT NULL PRIMARY KEY`,
      ...others.map((column) => `${column} ${types[column]}`),
      `written_at ${timeType} NOT NULL`,
    ];
    return `CREATE TABLE IF NOT EXISTS ${nameOf(kind)} (\n  ${lines.join(',\n  ')}\n)${tableOptions};`;
  };
  return {
    tables: withTable.map(createTable),
    account: account?.create(user, from) ?? null,
    grants: account === null ? [] : withTable.map((kind) => account.grant(nameOf(kind), user, from)),
    byStatement: used.filter(
      (kind) =>
        writeBack[kind].upsert !== undefined || (kind !== 'invoices' && writeBack[kind].clearPending !== undefined),
    ),
  };
}
