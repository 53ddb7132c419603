import {
  type SampleErpDatabase,
  type SampleErpTarget,
  withSampleErp,
} from '../../src/lab/sample-erp/create-sample-erp.js';
import { decimal } from '../../src/lab/sample-erp/sample-rows.js';

interface NewSampleOrder {
  /** The first customer by default. */
  customerId?: number;
  /** One piece of the first product by default. */
  lines?: { productId?: number; qty?: number; priceCents?: number }[];
  status?: string;
  /** Wall time in Europe/Berlin; now by default. */
  time?: string;
}

/** Enters one more order, as a clerk would. */
export function insertSampleOrder(
  target: SampleErpTarget,
  order: NewSampleOrder = {},
): Promise<{ id: number; orderNo: string }> {
  const { customerId = 1, lines = [{}], status = 'confirmed', time = wallTimeNow() } = order;
  return withSampleErp(target, async (database) => {
    const id = await nextId(database, 'sales_orders');
    const orderNo = `A-${time.slice(0, 4)}-${String(id).padStart(6, '0')}`;
    const firstLine = await nextId(database, 'sales_order_lines');
    const rows = lines.map(({ productId = 1, qty = 1, priceCents = 1999 }, index) => ({
      values: [firstLine + index, id, index + 1, productId, `${qty}.000`, decimal(priceCents)],
      cents: qty * priceCents,
    }));
    const total = decimal(rows.reduce((sum, { cents }) => sum + cents, 0));
    const head = [id, orderNo, customerId, status, time.slice(0, 10), 'EUR', total, null, time, time];
    await database.run('INSERT INTO sales_orders VALUES (?,?,?,?,?,?,?,?,?,?)', head);
    for (const { values } of rows) await database.run('INSERT INTO sales_order_lines VALUES (?,?,?,?,?,?)', values);
    return { id, orderNo };
  });
}

/** Changes a line's quantity and the order's total, but not its updated_at: many ERPs do just that. */
export function editSampleLine(target: SampleErpTarget, orderId: number, lineNo: number, qty: number): Promise<void> {
  return withSampleErp(target, async (database) => {
    const line = [qty, orderId, lineNo];
    await database.run('UPDATE sales_order_lines SET qty = ? WHERE order_id = ? AND line_no = ?', line);
    await database.run(
      `UPDATE sales_orders SET total =
         (SELECT ROUND(SUM(qty * unit_price), 2) FROM sales_order_lines WHERE order_id = ?) WHERE id = ?`,
      [orderId, orderId],
    );
  });
}

export function cancelSampleOrder(target: SampleErpTarget, orderId: number, time = wallTimeNow()): Promise<void> {
  return withSampleErp(target, (database) =>
    database.run("UPDATE sales_orders SET status = 'cancelled', updated_at = ? WHERE id = ?", [time, orderId]),
  );
}

async function nextId(database: SampleErpDatabase, table: string): Promise<number> {
  return Number(await database.value(`SELECT COALESCE(MAX(id), 0) + 1 FROM ${table}`));
}

/** The wall time in Berlin, with microseconds. */
export function wallTimeNow(now = new Date()): string {
  const berlin = now.toLocaleString('sv-SE', { timeZone: 'Europe/Berlin' });
  return `${berlin}.${String(now.getMilliseconds()).padStart(3, '0')}000`;
}
