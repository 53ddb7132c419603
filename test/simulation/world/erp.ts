import type { Database } from 'better-sqlite3';
import { closeIdle, openReal, realFs } from '../machine/intercept.js';
import type { Machine } from '../machine/machine.js';
import type { Dice } from './dice.js';

export interface Line {
  sku: string | null;
  qty: string;
  price: string;
}

export interface OrderRow {
  id: number;
  okey: string;
  number: string;
  customer_id: number | null;
  status: string;
  currency: string;
  total: string;
  remark: string | null;
  /** The identity of this order, whatever people call it: given once, never changed and never given again. */
  ref: string;
  created_at: string;
  updated_at: string;
}

export interface CustomerRow {
  id: number;
  code: string | null;
  name: string | null;
  email: string | null;
  status: string;
  ref: string;
  updated_at: string;
}

const schema = `
  CREATE TABLE customers (id INTEGER PRIMARY KEY, code TEXT, name TEXT, email TEXT, status TEXT, ref TEXT, updated_at TEXT);
  CREATE TABLE orders (id INTEGER PRIMARY KEY, okey TEXT UNIQUE, number TEXT, customer_id INTEGER, status TEXT, currency TEXT,
    total TEXT, remark TEXT, ref TEXT, created_at TEXT, updated_at TEXT);
  CREATE TABLE lines (id INTEGER PRIMARY KEY AUTOINCREMENT, order_id INTEGER, line_no INTEGER, sku TEXT, qty TEXT, price TEXT);
`;

export const mostOrders = 9;
const mostCustomers = 4;

/** The ERP at a moment: a backup of it. */
type Backup = Record<'customers' | 'orders' | 'lines', Record<string, unknown>[]>;

/** The ERP, in a SQLite file that Waybill reads by itself, and the people who work with it. */
export class Erp {
  database: Database;
  backup: Backup | null = null;
  /** The removed rows, to come back as they were. */
  #removed: { order: OrderRow; lines: Record<string, unknown>[] }[] = [];
  #emptied: Backup | null = null;
  #lastRef: number;
  #lastNumber: number;
  #lastId = 0;
  #schema = schema;
  /** Codes of customers differ between sources, as the settings ask. */
  #lastCustomerId: number;
  /** An order whose lines are still to be saved. */
  #halfSaved: { id: number; lines: Line[] }[] = [];
  /** The records that got another key, or another number or code, by ref. */
  readonly moved = new Set<string>();
  readonly renamed = new Set<string>();
  /** When each order last became or ceased to be what may be sent, by its ref. */
  readonly changedAtMs = new Map<string, number>();

  constructor(
    readonly file: string,
    private readonly machine: Machine,
    /** Which source this is: no two have a ref, a number or a code in common. */
    nth = 0,
  ) {
    this.#lastRef = nth * 1000;
    this.#lastNumber = 1000 + nth * 5000;
    this.#lastCustomerId = nth * 500;
    this.database = openReal(file);
    this.database.exec(schema);
  }

  close(): void {
    this.database.close();
  }

  /** Tables that are there from now on, in backups as well. */
  add(tables: readonly string[]): void {
    this.#schema += tables.join('\n');
    this.database.exec(tables.join('\n'));
  }

  /** Waybill's writes about an order, by the order's key. */
  written(): { order_key: string; service_order_id: string | null }[] {
    if (this.#schema === schema) return [];
    return this.database.prepare('SELECT order_key, service_order_id FROM waybill_orders').all() as {
      order_key: string;
      service_order_id: string | null;
    }[];
  }

  orders(): OrderRow[] {
    return this.database.prepare('SELECT * FROM orders ORDER BY id').all() as OrderRow[];
  }

  customers(): CustomerRow[] {
    return this.database.prepare('SELECT * FROM customers ORDER BY id').all() as CustomerRow[];
  }

  linesOf(id: number): (Line & { line_no: number })[] {
    return this.database.prepare('SELECT * FROM lines WHERE order_id=? ORDER BY line_no').all(id) as (Line & {
      line_no: number;
    })[];
  }

  customer(id: number | null): CustomerRow | undefined {
    return this.database.prepare('SELECT * FROM customers WHERE id=?').get(id) as CustomerRow | undefined;
  }

  stamp(agoMs = 0): string {
    return new Date(this.machine.erpMs - agoMs).toISOString().replace('T', ' ').replace('Z', '');
  }

  run(sql: string, ...values: unknown[]): void {
    this.database.prepare(sql).run(...values);
  }

  /** All of it or nothing of it is seen. */
  together(work: () => void): void {
    if (this.database.inTransaction) {
      work();
      return;
    }
    this.database.exec('BEGIN IMMEDIATE');
    try {
      work();
      this.database.exec('COMMIT');
    } catch (error) {
      this.database.exec('ROLLBACK');
      throw error;
    }
  }

  /** Something about this order changed now, as far as the world knows. */
  note(ref: string): void {
    this.changedAtMs.set(ref, this.machine.elapsedMs);
  }

  nextRef(): string {
    return `ref-${++this.#lastRef}`;
  }

  nextNumber(): string {
    return `SO-${++this.#lastNumber}`;
  }

  /** A key that was never used. */
  freeId(): number {
    return ++this.#lastId;
  }

  freeCustomerId(): number {
    return ++this.#lastCustomerId;
  }

  addCustomer(): void {
    if (this.customers().length >= mostCustomers) return;
    const id = this.freeCustomerId();
    const values = [id, `C-${id}`, `Customer ${id}`, `c${id}@example.com`, 'active', this.nextRef(), this.stamp()];
    this.run('INSERT INTO customers VALUES (?,?,?,?,?,?,?)', ...values);
  }

  drawLines(dice: Dice): Line[] {
    return Array.from({ length: 1 + dice.below(3) }, () => ({
      sku: `S-${dice.below(4)}`,
      qty: String(1 + dice.below(5)),
      price: `${1 + dice.below(20)}.${String(dice.below(100)).padStart(2, '0')}`,
    }));
  }

  /** @param agoMs the row shows up now, and says that it changed so long ago */
  addOrder(
    dice: Dice,
    options: { agoMs?: number; id?: number; number?: string; isHalf?: boolean; status?: string } = {},
  ): void {
    const customers = this.customers();
    if (customers.length === 0 || this.orders().length >= mostOrders) return;
    const id = options.id ?? this.freeId();
    const lines = this.drawLines(dice);
    const ref = this.nextRef();
    const stamp = this.stamp(options.agoMs);
    const row = [
      ...[id, `K${id}`, options.number ?? this.nextNumber(), dice.pick(customers).id],
      ...[options.status ?? 'confirmed', 'EUR', totalOf(lines), null, ref, stamp, stamp],
    ];
    this.together(() => {
      this.run('INSERT INTO orders VALUES (?,?,?,?,?,?,?,?,?,?,?)', ...row);
      if (!options.isHalf) this.writeLines(id, lines);
    });
    if (options.isHalf) this.#halfSaved.push({ id, lines });
    this.note(ref);
  }

  writeLines(id: number, lines: readonly Line[]): void {
    this.run('DELETE FROM lines WHERE order_id=?', id);
    for (const [at, { sku, qty, price }] of lines.entries())
      this.run(
        'INSERT INTO lines (order_id, line_no, sku, qty, price) VALUES (?,?,?,?,?)',
        id,
        at + 1,
        sku,
        qty,
        price,
      );
  }

  saveOtherHalves(): void {
    for (const { id, lines } of this.#halfSaved.splice(0))
      if (this.linesOf(id).length === 0 && this.orders().some((one) => one.id === id)) this.writeLines(id, lines);
  }

  /** @param isSeen the row says when it changed */
  setLines(order: OrderRow, lines: readonly Line[], isSeen: boolean): void {
    this.together(() => {
      this.writeLines(order.id, lines);
      this.run('UPDATE orders SET total=? WHERE id=?', totalOf(lines), order.id);
      if (isSeen) this.run('UPDATE orders SET updated_at=? WHERE id=?', this.stamp(), order.id);
    });
    this.note(order.ref);
  }

  setOrder(order: OrderRow, values: Partial<OrderRow>): void {
    const all: Partial<OrderRow> = { updated_at: this.stamp(), ...values };
    if (values.number !== undefined && values.number !== order.number) this.renamed.add(order.ref);
    const set = Object.keys(all).map((name) => `${name}=?`);
    this.run(`UPDATE orders SET ${set.join(',')} WHERE id=?`, ...Object.values(all), order.id);
    this.note(order.ref);
  }

  setCustomer(customer: CustomerRow, values: Partial<CustomerRow>): void {
    const all: Partial<CustomerRow> = { updated_at: this.stamp(), ...values };
    if (values.code !== undefined && values.code !== customer.code) this.renamed.add(customer.ref);
    const set = Object.keys(all).map((name) => `${name}=?`);
    this.run(`UPDATE customers SET ${set.join(',')} WHERE id=?`, ...Object.values(all), customer.id);
  }

  /** Another key for the same order. */
  moveOrder(order: OrderRow, id: number): void {
    if (this.orders().some((one) => one.id === id)) return;
    this.moved.add(order.ref);
    this.together(() => {
      this.run('UPDATE orders SET id=?, okey=?, updated_at=? WHERE id=?', id, `K${id}`, this.stamp(), order.id);
      this.run('UPDATE lines SET order_id=? WHERE order_id=?', id, order.id);
    });
    this.note(order.ref);
  }

  moveCustomer(customer: CustomerRow, id: number): void {
    if (this.customers().some((one) => one.id === id)) return;
    this.moved.add(customer.ref);
    this.together(() => {
      this.run('UPDATE customers SET id=?, updated_at=? WHERE id=?', id, this.stamp(), customer.id);
      this.run('UPDATE orders SET customer_id=? WHERE customer_id=?', id, customer.id);
    });
  }

  removeOrder(order: OrderRow): void {
    const lines = this.database.prepare('SELECT * FROM lines WHERE order_id=?').all(order.id) as Record<
      string,
      unknown
    >[];
    this.#removed.push({ order, lines });
    this.together(() => {
      this.run('DELETE FROM orders WHERE id=?', order.id);
      this.run('DELETE FROM lines WHERE order_id=?', order.id);
    });
    this.note(order.ref);
  }

  removed(): OrderRow[] {
    return this.#removed.map(({ order }) => order);
  }

  bringBack(): void {
    const last = this.#removed.pop();
    if (!last || this.orders().some(({ id }) => id === last.order.id)) return;
    this.together(() => this.#insert({ customers: [], orders: [{ ...last.order }], lines: last.lines }));
    this.note(last.order.ref);
  }

  takeBackup(): void {
    this.backup = this.#all();
  }

  /** The backup takes the place of everything, in another file of the same name. */
  restoreBackup(): void {
    if (!this.backup) return;
    const draft = `${this.file}.restored`;
    realFs.rmSync(draft, { force: true });
    const fresh = openReal(draft);
    fresh.exec(this.#schema);
    fresh.close();
    this.database.close();
    closeIdle();
    realFs.renameSync(draft, this.file);
    this.database = openReal(this.file);
    const { backup } = this;
    this.together(() => this.#insert(backup));
    for (const { ref } of this.orders()) this.note(ref);
  }

  /** An import that empties the tables and fills them again. */
  empty(): void {
    if (this.#emptied || this.orders().length === 0) return;
    this.#emptied = this.#all();
    this.together(() => {
      for (const table of ['lines', 'orders', 'customers']) this.run(`DELETE FROM ${table}`);
    });
  }

  refill(): void {
    const before = this.#emptied;
    if (!before) return;
    this.#emptied = null;
    this.together(() => {
      for (const table of ['lines', 'orders', 'customers']) this.run(`DELETE FROM ${table}`);
      this.#insert(before);
    });
  }

  #all(): Backup {
    const of = (table: string) => this.database.prepare(`SELECT * FROM ${table}`).all() as Record<string, unknown>[];
    return { customers: of('customers'), orders: of('orders'), lines: of('lines') };
  }

  #insert(rows: Backup): void {
    for (const table of ['customers', 'orders', 'lines'] as const)
      for (const row of rows[table]) {
        const names = Object.keys(row);
        this.run(
          `INSERT OR REPLACE INTO ${table} (${names.join(',')}) VALUES (${names.map(() => '?').join(',')})`,
          ...Object.values(row),
        );
      }
  }
}

/** The total of lines as people would add them up, in cents and back. */
export function totalOf(lines: readonly Line[]): string {
  const cents = lines.reduce((sum, { qty, price }) => sum + Number(qty) * Math.round(Number(price) * 100), 0);
  return (cents / 100).toFixed(2);
}
