import { openSqlite, type SqliteFile } from '../../test/support/sqlite-file.js';

/** Orders that every contender sends: three lines each, of a hundred customers. */
export interface BenchOrder {
  /** 1, 2, 3, … */
  id: number;
  body: string;
}

const customers = 100;
const lines = [1, 2, 3];
const priceOf = (line: number) => 1999 + line;
const total = inEuro(lines.reduce((sum, line) => sum + line * priceOf(line), 0));
const codeOf = (id: number) => `K${1000 + (id % customers)}`;

/** The body that is sent for an order. Waybill makes the same from the rows below. */
export function* benchOrders(count: number): Generator<BenchOrder> {
  for (let id = 1; id <= count; id++) {
    const order = {
      customer_code: codeOf(id),
      note: `ORD-${id}`,
      items: lines.map((line) => ({ sku: `SKU-${(id * line) % 500}`, qty: line, price: priceOf(line) })),
    };
    yield { id, body: JSON.stringify(order) };
  }
}

/** The same orders as an ERP holds them. Others may write into it while it is read. */
export function createBenchErp(file: string, count: number): void {
  const erp = openSqlite(file);
  try {
    erp.exec(`
      PRAGMA journal_mode = WAL;
      CREATE TABLE customer (id INTEGER PRIMARY KEY, code TEXT, name TEXT, changed TEXT);
      CREATE TABLE sales (id INTEGER PRIMARY KEY, number TEXT, customer INTEGER, state TEXT, total TEXT, changed TEXT);
      CREATE TABLE line (sale INTEGER, position INTEGER, sku TEXT, qty INTEGER, price TEXT, PRIMARY KEY (sale, position));
      CREATE INDEX sales_changed ON sales (changed, id);
      CREATE INDEX customer_changed ON customer (changed, id);
      BEGIN`);
    const changed = '2026-01-02 08:00:00';
    const customer = erp.prepare('INSERT INTO customer VALUES (?, ?, ?, ?)');
    for (let id = 0; id < customers; id++) customer.run(id, codeOf(id), `Customer ${id}`, changed);
    const insert = inserts(erp);
    for (let id = 1; id <= count; id++) insert(id, changed);
    erp.exec('COMMIT');
  } finally {
    erp.close();
  }
}

/** The same in a database on a server, which makes the rows by itself. */
export async function fillBenchErp(
  { query }: { query(sql: string): Promise<unknown> },
  type: 'mysql' | 'postgres',
  count: number,
): Promise<void> {
  const moment = type === 'mysql' ? 'DATETIME(3)' : 'TIMESTAMP(3)';
  const numbers = (from: number, to: number) =>
    type === 'mysql' ? `(SELECT seq AS n FROM seq_${from}_to_${to})` : `(SELECT generate_series(${from}, ${to}) AS n)`;
  const changed = `'2026-01-02 08:00:00'`;
  const price = `CASE p.n ${lines.map((line) => `WHEN ${line} THEN ${inEuro(priceOf(line))}`).join(' ')} END`;
  for (const statement of [
    `CREATE TABLE customer (id INT PRIMARY KEY, code VARCHAR(20), name VARCHAR(60), changed ${moment})`,
    `CREATE TABLE sales (id INT PRIMARY KEY, number VARCHAR(20), customer INT, state VARCHAR(10), total DECIMAL(12,2), changed ${moment})`,
    'CREATE TABLE line (sale INT, position INT, sku VARCHAR(20), qty INT, price DECIMAL(12,2), PRIMARY KEY (sale, position))',
    `INSERT INTO customer SELECT n, CONCAT('K', 1000 + n), CONCAT('Customer ', n), ${changed} FROM ${numbers(0, customers - 1)} c`,
    `INSERT INTO sales SELECT n, CONCAT('ORD-', n), n % ${customers}, 'open', ${total}, ${changed} FROM ${numbers(1, count)} s`,
    `INSERT INTO line SELECT s.n, p.n, CONCAT('SKU-', (s.n * p.n) % 500), p.n, ${price} FROM ${numbers(1, count)} s CROSS JOIN ${numbers(1, lines.length)} p`,
    'CREATE INDEX sales_changed ON sales (changed, id)',
    'CREATE INDEX customer_changed ON customer (changed, id)',
    // Here the server's own account makes the tables, and the owner of the database reads them.
    ...(type === 'postgres' ? ['GRANT SELECT ON ALL TABLES IN SCHEMA public TO PUBLIC'] : []),
  ])
    await query(statement);
}

/** Enters an order now. @returns its number, by which the service knows it */
export function insertBenchOrder(erp: SqliteFile, id: number): string {
  const changed = new Date().toISOString().replace('T', ' ').slice(0, -1);
  erp.exec('BEGIN IMMEDIATE');
  inserts(erp)(id, changed);
  erp.exec('COMMIT');
  return `ORD-${id}`;
}

function inEuro(cents: number): string {
  return (cents / 100).toFixed(2);
}

function inserts(erp: SqliteFile): (id: number, changed: string) => void {
  const sale = erp.prepare('INSERT INTO sales VALUES (?, ?, ?, ?, ?, ?)');
  const line = erp.prepare('INSERT INTO line VALUES (?, ?, ?, ?, ?)');
  return (id, changed) => {
    sale.run(id, `ORD-${id}`, id % customers, 'open', total, changed);
    for (const n of lines) line.run(id, n, `SKU-${(id * n) % 500}`, n, inEuro(priceOf(n)));
  };
}

/** The mapping with which Waybill reads it. */
export const benchMapping = {
  customers: {
    query: 'SELECT id, code, name, changed FROM customer',
    key: 'id',
    changedAt: 'changed',
    fields: { customer_code: 'code', name: 'name' },
  },
  orders: {
    query: 'SELECT id, number, customer, state, total, changed FROM sales',
    key: 'id',
    changedAt: 'changed',
    pending: "state = 'open'",
    startFrom: 'all',
    customerKey: 'customer',
    number: 'number',
    total: 'total',
    lines: {
      query: 'SELECT sale, position, sku, qty, price FROM line',
      orderKey: 'sale',
      sortBy: 'position',
      fields: { sku: 'sku', qty: 'qty', price: 'price' },
    },
  },
  amounts: { currency: 'EUR' },
};
