/** The tables of a sample ERP, whichever database holds them. */
export interface ErpTables {
  query(sql: string): Promise<unknown>;
}

type ErpRow = Record<string, string | number | null>;

export interface ExpectedOrder {
  customer_code: string;
  note: string;
  items: { sku: string; qty: number; price: number }[];
  total: number;
}

/** The customers that eligible orders name, as the service should hold them. */
export async function expectedCustomers(database: ErpTables): Promise<Map<string, Record<string, string>>> {
  const rows = (await database.query(
    `SELECT DISTINCT c.customer_no AS customer_code, c.name, c.email, c.street, c.postcode, c.city, c.country
       FROM customers c JOIN sales_orders o ON o.customer_id=c.id
      WHERE o.status='confirmed' AND o.currency='EUR' AND o.created_at>='2026-01-01'`,
  )) as ErpRow[];
  // NULL and empty text leave an optional field out.
  const filled = (row: ErpRow) => Object.entries(row).filter(([, value]) => value !== null && value !== '');
  return new Map(
    rows.map((row) => [row.customer_code as string, Object.fromEntries(filled(row)) as Record<string, string>]),
  );
}

/** The records that the service should hold, straight from the tables of the sample ERP: no line of the connector takes part. */
export async function expectedOrders(database: ErpTables): Promise<Map<string, ExpectedOrder>> {
  const rows = (await database.query(
    `SELECT o.order_no, c.customer_no, p.sku, l.qty, ROUND(l.unit_price * 100) AS cents
       FROM sales_orders o JOIN customers c ON c.id=o.customer_id
       JOIN sales_order_lines l ON l.order_id=o.id JOIN products p ON p.id=l.product_id
      WHERE o.status='confirmed' AND o.currency='EUR' AND o.created_at>='2026-01-01'
      ORDER BY o.id, l.line_no`,
  )) as ErpRow[];
  const orders = new Map<string, ExpectedOrder>();
  for (const row of rows) {
    const number = row.order_no as string;
    const order = orders.get(number) ?? {
      customer_code: row.customer_no as string,
      note: number,
      items: [],
      total: 0,
    };
    const item = { sku: row.sku as string, qty: Number(row.qty), price: Number(row.cents) };
    order.items.push(item);
    order.total += item.qty * item.price;
    orders.set(number, order);
  }
  return orders;
}
