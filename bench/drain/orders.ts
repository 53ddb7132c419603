import { openSqlite } from '../../test/support/sqlite-file.js';

/** Orders that every contender sends: three lines each, of a hundred customers. */
export interface BenchOrder {
  /** 1, 2, 3, … */
  id: number;
  body: string;
}

const customers = 100;
const lines = [1, 2, 3];
const codeOf = (id: number) => `K${1000 + (id % customers)}`;

/** What an order becomes on the wire. Waybill makes the same from the rows below. */
export function* benchOrders(count: number): Generator<BenchOrder> {
  for (let id = 1; id <= count; id++) {
    const order = {
      customer_code: codeOf(id),
      note: `ORD-${id}`,
      items: lines.map((line) => ({ sku: `SKU-${(id * line) % 500}`, qty: line, price: 1999 + line })),
    };
    yield { id, body: JSON.stringify(order) };
  }
}

/** The same orders as an ERP holds them. */
export function createBenchErp(file: string, count: number): void {
  const erp = openSqlite(file);
  try {
    erp.exec(`
      CREATE TABLE customer (id INTEGER PRIMARY KEY, code TEXT, name TEXT, changed TEXT);
      CREATE TABLE sales (id INTEGER PRIMARY KEY, number TEXT, customer INTEGER, state TEXT, changed TEXT);
      CREATE TABLE line (sale INTEGER, position INTEGER, sku TEXT, qty INTEGER, price TEXT, PRIMARY KEY (sale, position));
      CREATE INDEX sales_changed ON sales (changed, id);
      CREATE INDEX customer_changed ON customer (changed, id);
      BEGIN`);
    const customer = erp.prepare('INSERT INTO customer VALUES (?, ?, ?, ?)');
    const sale = erp.prepare('INSERT INTO sales VALUES (?, ?, ?, ?, ?)');
    const line = erp.prepare('INSERT INTO line VALUES (?, ?, ?, ?, ?)');
    const changed = '2026-01-02 08:00:00';
    for (let id = 0; id < customers; id++) customer.run(id, codeOf(id), `Customer ${id}`, changed);
    for (let id = 1; id <= count; id++) {
      sale.run(id, `ORD-${id}`, id % customers, 'open', changed);
      for (const n of lines) line.run(id, n, `SKU-${(id * n) % 500}`, n, `${((1999 + n) / 100).toFixed(2)}`);
    }
    erp.exec('COMMIT');
  } finally {
    erp.close();
  }
}

/** How Waybill reads it. */
export const benchMapping = {
  customers: {
    query: 'SELECT id, code, name, changed FROM customer',
    key: 'id',
    changedAt: 'changed',
    fields: { customer_code: 'code', name: 'name' },
  },
  orders: {
    query: 'SELECT id, number, customer, state, changed FROM sales',
    key: 'id',
    changedAt: 'changed',
    pending: "state = 'open'",
    startFrom: 'all',
    customerKey: 'customer',
    number: 'number',
    lines: {
      query: 'SELECT sale, position, sku, qty, price FROM line',
      orderKey: 'sale',
      sortBy: 'position',
      fields: { sku: 'sku', qty: 'qty', price: 'price' },
    },
  },
  amounts: { currency: 'EUR' },
};
