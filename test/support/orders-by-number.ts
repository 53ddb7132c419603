/** The sample ERP's orders under their number instead of their id: settings of `orders`. */
export const ordersByNumber = {
  key: 'order_no',
  lines: {
    query:
      'SELECT o.order_no, l.line_no, p.sku, l.qty, l.unit_price FROM sales_order_lines l JOIN sales_orders o ON o.id=l.order_id LEFT JOIN products p ON p.id=l.product_id',
    orderKey: 'order_no',
    sortBy: 'line_no',
    fields: { sku: 'sku', qty: 'qty', price: 'unit_price' },
  },
};
