import type { WriteBackSettings } from '../../config/sections/write-back.js';
import { type WriteBackKind, writeBackColumns, writeBackKinds } from '../../model/write-back.js';
import { type ErpDialect, quoteName } from './write-back-statements.js';

/** What an administrator of the ERP runs once. */
export interface SideTables {
  /** `CREATE TABLE` for each side table that the settings use. */
  tables: string[];
  /** What the account may do; none on SQLite, which knows no accounts. */
  grants: string[];
  /** Kinds that go by statements of the settings, for which nobody can say here what they need. */
  byStatement: WriteBackKind[];
}

export interface SideTablePlace {
  dialect: ErpDialect;
  /** Of the side tables; null on SQLite. */
  database: string | null;
  user: string;
  /** Where the account connects from. */
  from: string;
}

const columnTypes: Record<string, string> = {
  order_number: 'VARCHAR(255) NULL',
  service_order_id: 'VARCHAR(255) NULL',
  service_customer_id: 'VARCHAR(255) NULL',
  service_status: 'VARCHAR(255) NULL',
  service_total: 'DECIMAL(30,6) NULL',
  delivered_at: 'DATETIME NULL',
  parked_class: 'VARCHAR(16) NULL',
  parked_reason: 'VARCHAR(1000) NULL',
  customer_code: 'VARCHAR(255) NULL',
  amount: 'DECIMAL(30,6) NOT NULL',
  currency: 'CHAR(3) NOT NULL',
  due_date: 'DATE NOT NULL',
  status: 'VARCHAR(64) NOT NULL',
  listed_since: 'DATETIME NOT NULL',
  no_longer_listed_at: 'DATETIME NULL',
  status_when_it_left: 'VARCHAR(64) NULL',
};

/** The side tables of the settings as SQL. Pure. */
export function sideTables(settings: WriteBackSettings, place: SideTablePlace): SideTables {
  const used = writeBackKinds.filter((kind) => settings[kind].enabled);
  const withTable = used.filter((kind) => settings[kind].upsert === undefined);
  const nameOf = (kind: WriteBackKind) => {
    const name = quoteName(place.dialect, settings[kind].table);
    return place.database === null ? name : `${quoteName(place.dialect, place.database)}.${name}`;
  };
  const account = `${literal(place.user)}@${literal(place.from)}`;
  return {
    tables: withTable.map((kind) => createTable(nameOf(kind), kind, place.dialect)),
    grants:
      place.dialect === 'mysql'
        ? withTable.map((kind) => `GRANT SELECT, INSERT, UPDATE, DELETE ON ${nameOf(kind)} TO ${account};`)
        : [],
    byStatement: used.filter((kind) => settings[kind].upsert !== undefined),
  };
}

function createTable(name: string, kind: WriteBackKind, dialect: ErpDialect): string {
  const [key, ...others] = writeBackColumns[kind];
  const lines = [
    `${key} VARCHAR(255) NOT NULL PRIMARY KEY`,
    ...others.map((column) => `${column} ${columnTypes[column]}`),
    'written_at DATETIME NOT NULL',
  ];
  const end = dialect === 'mysql' ? ' ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin' : '';
  return `CREATE TABLE IF NOT EXISTS ${name} (\n  ${lines.join(',\n  ')}\n)${end};`;
}

function literal(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;
}
