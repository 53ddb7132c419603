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
