import type { Preset } from './preset.js';

/**
 * ERPNext, from 7 on: a document is a table, its name is the key. docstatus: 0 draft, 1 submitted, 2 cancelled. Net amounts
 * are after the discounts of the line and of the order, without tax.
 */
export const erpnext: Preset = {
  name: 'erpnext',
  title: 'ERPNext',
  signature: {
    'tabSales Order': [
      'name',
      'customer',
      'docstatus',
      'status',
      'currency',
      'company',
      'net_total',
      'creation',
      'modified',
    ],
    'tabSales Order Item': ['name', 'parent', 'parenttype', 'idx', 'item_code', 'qty', 'net_amount'],
    tabCustomer: ['name', 'customer_name', 'modified'],
  },
  draft({ sql, has, only }) {
    const optional = ['email_id', 'mobile_no', 'territory', 'tax_id'].filter((column) => has('tabCustomer', column));
    const amended = has('tabSales Order', 'amended_from') ? 'amended_from' : undefined;
    const fieldOf: Record<string, string> = { email_id: 'email', mobile_no: 'phone' };
    return {
      title: 'ERPNext',
      tables: only('tabCustomer', 'tabSales Order', 'tabSales Order Item'),
      customers: {
        query: `SELECT name, customer_name, ${['modified', ...optional].join(', ')}
FROM ${sql('tabCustomer')}`,
        key: ['name'],
        changedAt: 'modified',
        fields: {
          customer_code: 'name',
          name: 'customer_name',
          ...Object.fromEntries(
            optional.flatMap((column) =>
              fieldOf[column] === undefined ? [] : [[fieldOf[column], { column, optional: true }]],
            ),
          ),
        },
      },
      orders: {
        query: `SELECT name, customer, company, docstatus, status, transaction_date, currency, net_total, creation,
  ${['modified', ...(amended === undefined ? [] : [amended])].join(', ')}
FROM ${sql('tabSales Order')}`,
        key: ['name'],
        changedAt: 'modified',
        customerKey: ['customer'],
        number: 'name',
        total: 'net_total',
        startColumn: 'creation',
        status: 'status',
        currency: 'currency',
        company: 'company',
        confirmed: {
          condition: "docstatus = 1 AND status NOT IN ('Closed', 'On Hold')",
          meaning: 'submitted, and neither closed nor on hold',
        },
        cancelled: { column: 'docstatus', values: [2] },
        // A submitted order is changed by cancelling it, and amending it under a new name.
        replaces: amended,
        fields: {},
      },
      lines: {
        query: `SELECT parent, idx, item_code, qty, net_amount AS amount
FROM ${sql('tabSales Order Item')}
WHERE parenttype = 'Sales Order'`,
        orderKey: ['parent'],
        sortBy: ['idx'],
        fields: { sku: 'item_code', qty: 'qty' },
        amount: 'amount',
      },
      comments: {
        'orders.pending': 'docstatus: 0 draft, 1 submitted, 2 cancelled.',
        'orders.lines.amount': 'net_amount: after the discounts, without tax. The price for one is worked out from it.',
      },
    };
  },
};
