import type { Connection } from 'mysql2/promise';
import type { Client } from 'pg';
import { openSqlite, untilNotBusy } from '../../db/sqlite/driver.js';
import { type BadRows, makeSampleRows, type SampleValue } from './sample-rows.js';

/** The place of a sample ERP: a SQLite file, or the database of an open connection to a server. */
export type SampleErpTarget =
  | { type: 'sqlite'; file: string }
  | { type: 'mysql'; connection: Connection }
  | { type: 'postgres'; client: Client };

/** The part of a database that the generator and the changes need. */
export interface SampleErpDatabase {
  run(sql: string, values?: readonly SampleValue[]): Promise<void>;
  /** The first column of the first row. */
  value(sql: string): Promise<unknown>;
}

/** Runs changes in one transaction: all of them are seen, or none. */
export async function withSampleErp<T>(
  target: SampleErpTarget,
  change: (database: SampleErpDatabase) => Promise<T>,
): Promise<T> {
  const database = openTarget(target);
  try {
    await database.run(database.begin);
    const result = await change(database);
    await database.run('COMMIT');
    return result;
  } catch (error) {
    await database.run('ROLLBACK').catch(() => {});
    throw error;
  } finally {
    database.close();
  }
}

interface OpenDatabase extends SampleErpDatabase {
  begin: string;
  close(): void;
}

function openTarget(target: SampleErpTarget): OpenDatabase {
  if ('file' in target) return ownSqlite(target.file);
  return 'connection' in target ? borrowMysql(target.connection) : borrowPostgres(target.client);
}

function ownSqlite(file: string): OpenDatabase {
  const sqlite = openSqlite(file, { timeout: 0 });
  return {
    begin: 'BEGIN IMMEDIATE',
    // Whoever reads the file may do so in this process, and ends only when it is let.
    run: (sql, values = []) => untilNotBusy(5000, () => void sqlite.prepare(sql).run(...values)),
    value: async (sql) => sqlite.prepare(sql).pluck().get(),
    close: () => sqlite.close(),
  };
}

function borrowMysql(connection: Connection): OpenDatabase {
  return {
    begin: 'START TRANSACTION',
    run: async (sql, values = []) => void (await connection.query(sql, [...values])),
    value: async (sql) => {
      const [rows] = await connection.query<never>({ sql, rowsAsArray: true });
      return (rows as unknown[][])[0]?.[0];
    },
    // The connection is the caller's to close.
    close: () => {},
  };
}

function borrowPostgres(client: Client): OpenDatabase {
  return {
    begin: 'BEGIN',
    run: async (sql, values = []) => {
      let count = 0;
      await client.query(
        sql.replaceAll('?', () => `$${++count}`),
        [...values],
      );
    },
    value: async (sql) => (await client.query<unknown[]>({ text: sql, rowMode: 'array' })).rows[0]?.[0],
    close: () => {},
  };
}

/** The SQL in which the databases differ. */
const dialects = {
  sqlite: { id: 'INTEGER', time: 'DATETIME', tableOptions: '' },
  mysql: {
    id: 'INT',
    time: 'DATETIME(6)',
    tableOptions: ' ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci',
  },
  postgres: { id: 'INT', time: 'TIMESTAMP(6)', tableOptions: '' },
};

/** The statements that make an empty sample ERP. Times are wall times in Europe/Berlin, as an ERP writes them. */
function schemaStatements(type: SampleErpTarget['type']): string[] {
  const { id, time, tableOptions } = dialects[type];
  return [
    `CREATE TABLE customers (
      id ${id} NOT NULL PRIMARY KEY,
      customer_no VARCHAR(20) NOT NULL UNIQUE,
      name VARCHAR(120) NOT NULL,
      email VARCHAR(120),
      street VARCHAR(120),
      postcode VARCHAR(10),
      city VARCHAR(80),
      country CHAR(2) NOT NULL,
      created_at ${time} NOT NULL,
      updated_at ${time} NOT NULL
    )${tableOptions}`,
    'CREATE INDEX customers_updated ON customers (updated_at, id)',
    `CREATE TABLE products (
      id ${id} NOT NULL PRIMARY KEY,
      sku VARCHAR(40) NOT NULL UNIQUE,
      name VARCHAR(120) NOT NULL,
      unit_price DECIMAL(12,2) NOT NULL
    )${tableOptions}`,
    `CREATE TABLE sales_orders (
      id ${id} NOT NULL PRIMARY KEY,
      order_no VARCHAR(20) NOT NULL UNIQUE,
      customer_id ${id},
      status VARCHAR(12) NOT NULL,
      order_date DATE NOT NULL,
      currency CHAR(3) NOT NULL,
      total DECIMAL(12,2) NOT NULL,
      remark VARCHAR(200),
      created_at ${time} NOT NULL,
      updated_at ${time} NOT NULL
    )${tableOptions}`,
    'CREATE INDEX sales_orders_updated ON sales_orders (updated_at, id)',
    'CREATE INDEX sales_orders_customer ON sales_orders (customer_id)',
    `CREATE TABLE sales_order_lines (
      id ${id} NOT NULL PRIMARY KEY,
      order_id ${id} NOT NULL,
      line_no ${id} NOT NULL,
      product_id ${id},
      qty DECIMAL(12,3) NOT NULL,
      unit_price DECIMAL(14,4) NOT NULL
    )${tableOptions}`,
    'CREATE UNIQUE INDEX sales_order_lines_order ON sales_order_lines (order_id, line_no)',
  ];
}

interface SampleErpOptions {
  target: SampleErpTarget;
  /** The same seed and counts give the same rows. Default 1. */
  seed?: number;
  /** Customers that eligible orders name, by default 25; a few more without orders come on top. */
  customers?: number;
  /** Orders that can be sent, by default 200; drafts, cancelled orders and orders before startFrom come on top. */
  orders?: number;
  /** Eligible orders that can't be sent; they come on top as well. */
  bad?: BadRows;
}

/** The rows that were made. */
export interface SampleErpSummary {
  customers: { referenced: number; withoutOrders: number };
  orders: { eligible: number; ineligible: number };
  lines: number;
  /** Keys of the bad orders, by what is wrong with them. */
  bad: Record<keyof BadRows, number[]>;
}

const rowsPerStatement = 500;

/** Makes the tables and fills them. The target must not hold tables of these names. */
export async function createSampleErp(options: SampleErpOptions): Promise<SampleErpSummary> {
  const { target, seed = 1, customers = 25, orders = 200, bad = {} } = options;
  const rows = makeSampleRows(seed, { customers, orders, bad });
  await withSampleErp(target, async (database) => {
    for (const statement of schemaStatements(target.type)) await database.run(statement);
    await insertRows(database, 'customers', rows.customers);
    await insertRows(database, 'products', rows.products);
    await insertRows(database, 'sales_orders', rows.orders);
    await insertRows(database, 'sales_order_lines', rows.lines);
  });
  return {
    customers: { referenced: customers, withoutOrders: rows.customers.length - customers },
    orders: { eligible: orders, ineligible: rows.ineligibleOrders },
    lines: rows.lines.length,
    bad: rows.bad,
  };
}

async function insertRows(database: SampleErpDatabase, table: string, rows: SampleValue[][]): Promise<void> {
  for (let start = 0; start < rows.length; start += rowsPerStatement) {
    const some = rows.slice(start, start + rowsPerStatement);
    const marks = some.map((row) => `(${row.map(() => '?').join(',')})`).join(',');
    await database.run(`INSERT INTO ${table} VALUES ${marks}`, some.flat());
  }
}

/** The sections of a configuration that read the sample ERP, as they would stand in YAML. `erp` needs its connection too. */
export const sampleErpMapping = {
  erp: { timeZone: 'Europe/Berlin' },
  customers: {
    send: 'referenced' as const,
    query: 'SELECT id, customer_no, name, email, street, postcode, city, country, updated_at FROM customers',
    key: 'id',
    changedAt: 'updated_at',
    fields: {
      customer_code: 'customer_no',
      name: 'name',
      email: { column: 'email', optional: true },
      street: { column: 'street', optional: true },
      postcode: { column: 'postcode', optional: true },
      city: { column: 'city', optional: true },
      country: 'country',
    },
  },
  orders: {
    query:
      'SELECT id, order_no, customer_id, status, order_date, currency, total, remark, created_at, updated_at FROM sales_orders',
    key: 'id',
    changedAt: 'updated_at',
    pending: "status = 'confirmed' AND currency = 'EUR'",
    startFrom: { column: 'created_at', from: '2026-01-01' },
    customerKey: 'customer_id',
    number: 'order_no',
    total: 'total',
    lines: {
      query:
        'SELECT l.order_id, l.line_no, p.sku, l.qty, l.unit_price FROM sales_order_lines l LEFT JOIN products p ON p.id = l.product_id',
      orderKey: 'order_id',
      sortBy: 'line_no',
      fields: { sku: 'sku', qty: 'qty', price: 'unit_price' },
    },
  },
  amounts: { currency: 'EUR' },
};
