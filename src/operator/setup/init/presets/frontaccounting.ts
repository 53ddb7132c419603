import type { Preset } from './preset.js';

/**
 * FrontAccounting, from 2.3 on. Each company has its tables under a prefix such as 0_. trans_type: 30 sales orders, 32
 * quotations; type 1 is a template for orders that recur. Prices are doubles, a discount is a fraction, and the reference
 * of an order that was made with its invoice is `auto`.
 */
export const frontaccounting: Preset = {
  name: 'frontaccounting',
  title: 'FrontAccounting',
  prefix: /^\w*_$/,
  signature: {
    sales_orders: ['order_no', 'trans_type', 'debtor_no', 'reference', 'ord_date', 'type'],
    sales_order_details: ['id', 'order_no', 'trans_type', 'stk_code', 'unit_price', 'quantity', 'discount_percent'],
    debtors_master: ['debtor_no', 'name', 'curr_code'],
    debtor_trans: ['trans_no'],
  },
  draft({ sql, has, only }) {
    const exact = (column: string) => `CAST(${column} AS DECIMAL(20, 8))`;
    const total = has('sales_orders', 'total');
    const freight = has('sales_orders', 'freight_cost')
      ? `
UNION ALL
SELECT trans_type, order_no, 2147483647, 'FREIGHT', 1, ROUND(${exact('freight_cost')}, 2)
FROM ${sql('sales_orders')}
WHERE freight_cost <> 0`
      : '';
    return {
      title: 'FrontAccounting',
      tables: only('debtors_master', 'sales_orders', 'sales_order_details'),
      customers: {
        query: `SELECT debtor_no, name, address
FROM ${sql('debtors_master')}`,
        key: ['debtor_no'],
        fields: {
          customer_code: 'debtor_no',
          name: { column: 'name', html: 'decode', trim: true },
          street: { column: 'address', html: 'decode', trim: true, optional: true },
        },
      },
      orders: {
        query: `SELECT o.trans_type, o.order_no, COALESCE(NULLIF(NULLIF(o.reference, 'auto'), ''), o.order_no) AS number, o.type,
  o.debtor_no, o.ord_date, d.curr_code AS currency${total ? `, ${exact('o.total')} AS total` : ''}
FROM ${sql('sales_orders')} o
LEFT JOIN ${sql('debtors_master')} d ON d.debtor_no = o.debtor_no`,
        key: ['trans_type', 'order_no'],
        customerKey: ['debtor_no'],
        number: 'number',
        ...(total && { total: 'total', totalMayDiffer: true }),
        startColumn: 'ord_date',
        status: 'trans_type',
        currency: 'currency',
        confirmed: {
          condition: 'trans_type = 30 AND type = 0',
          meaning: 'sales orders, neither quotations nor templates of orders that recur',
        },
        fields: {},
      },
      lines: {
        query: `SELECT trans_type, order_no, id, stk_code, ${exact('quantity')} AS qty,
  ROUND(${exact('quantity')} * ${exact('unit_price')} * (1 - ${exact('discount_percent')}), 2) AS amount
FROM ${sql('sales_order_details')}${freight}`,
        orderKey: ['trans_type', 'order_no'],
        sortBy: ['id'],
        fields: { sku: 'stk_code', qty: 'qty' },
        amount: 'amount',
      },
      comments: {
        'customers.key': 'FrontAccounting keeps no time of change: only sweeps find changes (capture.sweepMinutes).',
        'orders.key': 'FrontAccounting keeps no time of change: only sweeps find changes (capture.sweepMinutes).',
        'orders.total': 'With tax where the ERP adds it: then leave it out.',
        ...(freight && { 'orders.lines.query': 'The freight of an order is a line with the SKU FREIGHT.' }),
        'orders.lines.amount': 'quantity × unit_price less the discount (a fraction), rounded to cents.',
      },
    };
  },
};
