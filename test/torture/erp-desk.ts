import { setTimeout as sleep } from 'node:timers/promises';
import type { Connection } from 'mysql2/promise';
import { formatSourceKey } from '../../src/model/record.js';
import { openSqlite } from '../support/sqlite-file.js';

export type Row = Record<string, string | null>;
/** Rows of the mix-ups, which deeds leave alone. */
export const firstMixedOrder = 200_000;
export const firstMixedCustomer = 50_000;

/** The connector's name for an order. */
export function keyOf({ id, order_key: key }: Row): string {
  return formatSourceKey([key ?? (id as string)]);
}

export interface ErpRows {
  customers: Row[];
  orders: Row[];
  lines: Row[];
  /** Orders whose rows were deleted, as they were last. */
  deletedOrders: readonly Row[];
}
export type Statement = readonly [sql: string, ...values: (string | number | null)[]];

/** A desk with a terminal of the ERP on it. */
export interface ErpDesk {
  /** All of them in one transaction, which stays open for `holdMs` before it commits. */
  run(statements: readonly Statement[], holdMs?: number): Promise<void>;
  read(sql: string): Promise<Row[]>;
  /** True if orders have a key beside their id. */
  readonly hasOrderKey: boolean;
  /** Orders whose rows were deleted, as they were last. */
  readonly deletedOrders: Row[];
  close(): Promise<void>;
}

/** @param signs whether a transaction says that it is made here */
export function sqliteDesk(file: string, hasOrderKey: boolean, signs = false): ErpDesk {
  const database = openSqlite(file, { timeout: 5000 });
  // A reader that is frozen in the middle of its work must not keep people from theirs.
  database.pragma('journal_mode = WAL');
  return {
    hasOrderKey,
    deletedOrders: [],
    // An open transaction would keep all others out, so here a late commit is one that is dated back.
    async run(statements) {
      database.transaction(() => {
        if (signs) database.exec('INSERT INTO at_desk VALUES (1)');
        for (const [sql, ...values] of statements) database.prepare(sql).run(...values);
        if (signs) database.exec('DELETE FROM at_desk');
      })();
    },
    async read(sql) {
      // A number of 19 digits would lose the last ones.
      const rows = database.prepare(sql).safeIntegers(true).all() as Record<string, unknown>[];
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
export function mariaDbDesk(connect: () => Promise<Connection>, hasOrderKey: boolean): ErpDesk {
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
    hasOrderKey,
    deletedOrders: [],
    async run(statements, holdMs = 0) {
      let mayBeCommitted = false;
      await persist(async (connection) => {
        await connection.query('START TRANSACTION');
        try {
          for (const [sql, ...values] of statements) await connection.query(sql, values);
        } catch (error) {
          // A server that is killed after it has committed can't say so.
          if (mayBeCommitted && (error as { code?: string }).code === 'ER_DUP_ENTRY') return;
          throw error;
        }
        if (holdMs > 0) await sleep(holdMs);
        mayBeCommitted = true;
        await connection.query('COMMIT');
      });
    },
    read: (sql) =>
      persist(async (connection) => {
        const [rows] = await connection.query({
          sql,
          typeCast: (field, next) => (field.type === 'LONGLONG' ? field.string() : next()),
        });
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
    deletedOrders: [...desk.deletedOrders],
  };
}

/** The time on the wall in Berlin, with microseconds. */
export function wallTime(atMs: number): string {
  const now = new Date(atMs);
  const berlin = now.toLocaleString('sv-SE', { timeZone: 'Europe/Berlin' });
  return `${berlin}.${String(now.getMilliseconds()).padStart(3, '0')}000`;
}
