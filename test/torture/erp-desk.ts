import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';
import type { Connection } from 'mysql2/promise';
import type { Deed } from './plan.js';

export type Row = Record<string, string | null>;
export interface ErpRows {
  customers: Row[];
  orders: Row[];
  lines: Row[];
}
export type Statement = readonly [sql: string, ...values: (string | number | null)[]];

/** A desk with a terminal of the ERP on it. */
export interface ErpDesk {
  /** All of them in one transaction, which stays open for `holdMs` before it commits. */
  run(statements: readonly Statement[], holdMs?: number): Promise<void>;
  read(sql: string): Promise<Row[]>;
  close(): Promise<void>;
}

export function sqliteDesk(file: string): ErpDesk {
  const database = new Database(file, { timeout: 5000 });
  // A reader that is frozen in the middle of its work must not keep people from theirs.
  database.pragma('journal_mode = WAL');
  return {
    // An open transaction would keep all others out, so here a late commit is one that is dated back.
    async run(statements) {
      database.transaction(() => {
        for (const [sql, ...values] of statements) database.prepare(sql).run(...values);
      })();
    },
    async read(sql) {
      const rows = database.prepare(sql).all() as Record<string, unknown>[];
      return rows.map((row) =>
        Object.fromEntries(Object.entries(row).map(([name, value]) => [name, value === null ? null : String(value)])),
      );
    },
    async close() {
      database.close();
    },
  };
}

/** @param connect opens a connection of its own for each piece of work, because the server may be restarted at any time */
export function mariaDbDesk(connect: () => Promise<Connection>): ErpDesk {
  /** Until the server answers again; what did not commit is done once more. */
  const persist = async <T>(work: (connection: Connection) => Promise<T>): Promise<T> => {
    for (let tries = 1; ; tries++) {
      let connection: Connection | null = null;
      try {
        connection = await connect();
        connection.on('error', () => undefined);
        return await work(connection);
      } catch (error) {
        if (tries === 60) throw error;
        await sleep(100);
      } finally {
        connection?.destroy();
      }
    }
  };
  return {
    run: (statements, holdMs = 0) =>
      persist(async (connection) => {
        await connection.query('START TRANSACTION');
        for (const [sql, ...values] of statements) await connection.query(sql, values);
        if (holdMs > 0) await sleep(holdMs);
        await connection.query('COMMIT');
      }),
    read: (sql) =>
      persist(async (connection) => {
        const [rows] = await connection.query(sql);
        return (rows as Record<string, unknown>[]).map((row) =>
          Object.fromEntries(Object.entries(row).map(([name, value]) => [name, value === null ? null : String(value)])),
        );
      }),
    close: async () => undefined,
  };
}

export async function readErp(desk: ErpDesk): Promise<ErpRows> {
  return {
    customers: await desk.read('SELECT * FROM customers ORDER BY id'),
    orders: await desk.read('SELECT * FROM sales_orders ORDER BY id'),
    lines: await desk.read(
      'SELECT l.*, p.sku FROM sales_order_lines l LEFT JOIN products p ON p.id=l.product_id ORDER BY l.order_id, l.line_no',
    ),
  };
}

export function digestOf(rows: ErpRows): string {
  return createHash('sha256').update(JSON.stringify(rows)).digest('hex');
}

/** Longer than the service of a torture run takes. */
export const tooLongText = 'x'.repeat(100);
export const longestText = 80;

/** Does what a deed says, and names the record that it touched; null when there is nothing (any more) to do it to. */
export async function doDeed(desk: ErpDesk, deed: Deed, nextId: () => number): Promise<string | null> {
  const rows = await readErp(desk);
  const live = rows.orders.filter((order) => order.status === 'confirmed' && order.currency === 'EUR');
  const good = live.filter((order) => judgeOrder(order, rows).kind === 'good');
  const customers = rows.customers.filter((customer) => live.some((order) => order.customer_id === customer.id));
  const choose = <T>(list: readonly T[], pick: number): T | undefined => list[pick % Math.max(list.length, 1)];
  const now = wallTime(Date.now());

  switch (deed.kind) {
    case 'new-order':
    case 'late-commit':
    case 'refused-order': {
      const customer = choose(customers, deed.pick);
      if (!customer) return null;
      const lateMs = deed.kind === 'late-commit' ? deed.lateMs : 0;
      const lines = deed.kind === 'refused-order' ? [{ product: 1, qty: 1 }] : deed.lines;
      const id = nextId();
      const time = wallTime(Date.now() - lateMs);
      const cents = lines.map((line) => line.qty * 1_250);
      await desk.run(
        [
          [
            'INSERT INTO sales_orders VALUES (?,?,?,?,?,?,?,?,?,?)',
            id,
            `A-2026-${id}`,
            Number(customer.id),
            'confirmed',
            time.slice(0, 10),
            'EUR',
            decimal(cents.reduce((sum, one) => sum + one, 0)),
            deed.kind === 'refused-order' ? tooLongText : null,
            time,
            time,
          ],
          ...lines.map(
            (line, index): Statement => [
              'INSERT INTO sales_order_lines VALUES (?,?,?,?,?,?)',
              id * 10 + index,
              id,
              index + 1,
              line.product,
              `${line.qty}.000`,
              '12.50',
            ],
          ),
        ],
        Math.min(lateMs, 1_000),
      );
      return `order ${id}`;
    }
    case 'edit-order':
    case 'silent-edit': {
      const order = choose(good, deed.pick);
      if (!order) return null;
      await desk.run(setQuantity(rows, order, deed.qty, deed.kind === 'edit-order' ? now : null));
      return `order ${order.id}`;
    }
    case 'there-and-back': {
      const order = choose(good, deed.pick);
      if (!order) return null;
      const first = rows.lines.find((line) => line.order_id === order.id);
      const before = Number(first?.qty);
      const steps = deed.pick % 2 === 0 ? [deed.qty, before] : [deed.qty, before, deed.qty];
      for (const [index, qty] of steps.entries()) {
        // Long enough for each step to be captured.
        if (index > 0) await sleep(1_200);
        await desk.run(setQuantity(await readErp(desk), order, qty, wallTime(Date.now())));
      }
      return `order ${order.id}`;
    }
    case 'edit-customer': {
      const customer = choose(customers, deed.pick);
      if (!customer) return null;
      await desk.run([['UPDATE customers SET name=?, updated_at=? WHERE id=?', deed.name, now, Number(customer.id)]]);
      return `customer ${customer.id}`;
    }
    case 'cancel-order': {
      const order = choose(good, deed.pick);
      if (!order) return null;
      await desk.run([["UPDATE sales_orders SET status='cancelled', updated_at=? WHERE id=?", now, Number(order.id)]]);
      return `order ${order.id}`;
    }
    case 'correct-refused-order': {
      const order = live.find((one) => one.remark === tooLongText);
      if (!order) return null;
      await desk.run([['UPDATE sales_orders SET remark=?, updated_at=? WHERE id=?', 'short', now, Number(order.id)]]);
      return `order ${order.id}`;
    }
    case 'correct-bad-row': {
      const order = live.find((one) => judgeOrder(one, rows).kind === 'unmappable' && one.customer_id !== null);
      const customer = customers[0];
      if (!order || !customer) return null;
      const id = Number(order.id);
      await desk.run([
        ['DELETE FROM sales_order_lines WHERE order_id=?', id],
        ['INSERT INTO sales_order_lines VALUES (?,?,?,?,?,?)', 5_000_000 + id, id, 1, 1, '2.000', '12.50'],
        ["UPDATE sales_orders SET total='25.00', customer_id=?, updated_at=? WHERE id=?", Number(customer.id), now, id],
      ]);
      return `order ${order.id}`;
    }
  }
}

function setQuantity(rows: ErpRows, order: Row, qty: number, updatedAt: string | null): Statement[] {
  const lines = rows.lines.filter((line) => line.order_id === order.id);
  const first = lines[0] as Row;
  const total = lines.reduce(
    (sum, line) => sum + (line === first ? qty : Number(line.qty)) * Math.round(Number(line.unit_price) * 100),
    0,
  );
  const id = Number(order.id);
  return [
    ['UPDATE sales_order_lines SET qty=? WHERE id=?', `${qty}.000`, Number(first.id)],
    updatedAt === null
      ? ['UPDATE sales_orders SET total=? WHERE id=?', decimal(total), id]
      : ['UPDATE sales_orders SET total=?, updated_at=? WHERE id=?', decimal(total), updatedAt, id],
  ];
}

export interface OrderBody {
  customer_code: string;
  note: string;
  remark?: string;
  items: { sku: string; qty: number; price: number }[];
}

/** What an order row has to become, worked out without a line of the connector. */
export type JudgedOrder =
  | { kind: 'ineligible' }
  | { kind: 'unmappable' }
  | { kind: 'refused'; body: OrderBody }
  | { kind: 'good'; body: OrderBody };

export function judgeOrder(order: Row, rows: ErpRows): JudgedOrder {
  if (order.status !== 'confirmed' || order.currency !== 'EUR' || (order.created_at ?? '') < '2026-01-01')
    return { kind: 'ineligible' };
  const customer = rows.customers.find((one) => one.id === order.customer_id);
  const lines = rows.lines.filter((line) => line.order_id === order.id);
  if (!customer || lines.length === 0) return { kind: 'unmappable' };
  let cents = 0;
  const items: OrderBody['items'] = [];
  for (const line of lines) {
    const qty = Number(line.qty);
    const price = Math.round(Number(line.unit_price) * 1000) / 10;
    if (!Number.isInteger(qty) || qty <= 0 || !Number.isInteger(price) || !line.sku) return { kind: 'unmappable' };
    items.push({ sku: line.sku, qty, price });
    cents += qty * price;
  }
  if (Math.round(Number(order.total) * 100) !== cents) return { kind: 'unmappable' };
  const body: OrderBody = {
    customer_code: customer.customer_no as string,
    note: order.order_no as string,
    items,
    ...(order.remark ? { remark: order.remark } : {}),
  };
  return { kind: (order.remark ?? '').length > longestText ? 'refused' : 'good', body };
}

export function judgeCustomer(customer: Row): Record<string, string> {
  const body: Record<string, string> = {
    customer_code: customer.customer_no as string,
    name: customer.name as string,
    country: customer.country as string,
  };
  for (const name of ['email', 'street', 'postcode', 'city']) if (customer[name]) body[name] = customer[name];
  return body;
}

function decimal(cents: number): string {
  return (cents / 100).toFixed(2);
}

/** The time on the wall in Berlin, with microseconds. */
export function wallTime(atMs: number): string {
  const now = new Date(atMs);
  const berlin = now.toLocaleString('sv-SE', { timeZone: 'Europe/Berlin' });
  return `${berlin}.${String(now.getMilliseconds()).padStart(3, '0')}000`;
}
