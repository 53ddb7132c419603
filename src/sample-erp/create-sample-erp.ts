import { sampleErpSchema } from './sample-erp-schema.js';
import { type SampleErpDatabase, type SampleErpTarget, type SampleValue, withSampleErp } from './sample-erp-target.js';
import { type BadRows, makeSampleRows } from './sample-rows.js';

export interface SampleErpOptions {
  target: SampleErpTarget;
  /** The same seed and counts give the same rows. */
  seed?: number;
  /** Customers that eligible orders name; a few more without orders come on top. */
  customers?: number;
  /** Orders that can be sent; drafts, cancelled orders and orders before startFrom come on top. */
  orders?: number;
  /** Eligible orders that can't be sent; they come on top as well. */
  bad?: BadRows;
}

/** What was made. */
export interface SampleErpSummary {
  customers: { referenced: number; withoutOrders: number };
  orders: { eligible: number; ineligible: number };
  lines: number;
  /** Keys of the bad orders, by what is wrong with them. */
  bad: Record<keyof BadRows, number[]>;
}

const ROWS_PER_STATEMENT = 500;

/** Makes the tables and fills them. The target must not hold tables of these names. */
export async function createSampleErp(options: SampleErpOptions): Promise<SampleErpSummary> {
  const { target, seed = 1, customers = 25, orders = 200, bad = {} } = options;
  const rows = makeSampleRows(seed, { customers, orders, bad });
  await withSampleErp(target, async (database) => {
    for (const statement of sampleErpSchema(target.type)) await database.run(statement);
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
  for (let start = 0; start < rows.length; start += ROWS_PER_STATEMENT) {
    const some = rows.slice(start, start + ROWS_PER_STATEMENT);
    const marks = some.map((row) => `(${row.map(() => '?').join(',')})`).join(',');
    await database.run(`INSERT INTO ${table} VALUES ${marks}`, some.flat());
  }
}
