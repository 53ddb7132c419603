import type { Preset } from './preset.js';

/**
 * webERP, from 4 on. Prices are doubles, a discount is a fraction (0.025), texts hold HTML entities, an empty date is
 * 0000-00-00 or 1000-01-01. No table has a column that says when a row changed.
 */
export const weberp: Preset = {
  name: 'weberp',
  title: 'webERP',
  signature: {
    salesorders: ['orderno', 'debtorno', 'branchcode', 'orddate', 'quotation', 'fromstkloc'],
    salesorderdetails: ['orderlineno', 'orderno', 'stkcode', 'unitprice', 'quantity', 'discountpercent'],
    debtorsmaster: ['debtorno', 'name', 'currcode'],
    currencies: ['currabrev'],
  },
  draft({ sql, has, only }) {
    const text = (column: string) => ({ column, html: 'decode', trim: true, optional: true });
    const exact = (column: string) => `CAST(${column} AS DECIMAL(20, 8))`;
    const ofOrder = `${sql('salesorders')} o
LEFT JOIN ${sql('debtorsmaster')} d ON d.debtorno = o.debtorno`;
    const ofCurrency = `LEFT JOIN ${sql('currencies')} c ON c.currabrev = d.currcode`;
    const decimals = has('currencies', 'decimalplaces') ? 'COALESCE(c.decimalplaces, 2)' : '2';
    const freight = has('salesorders', 'freightcost')
      ? `
UNION ALL
SELECT o.orderno, 2147483647, 'FREIGHT', 1, ROUND(${exact('o.freightcost')}, ${decimals})
FROM ${ofOrder}
${ofCurrency}
WHERE o.freightcost <> 0`
      : '';
    return {
      title: 'webERP',
      tables: only('debtorsmaster', 'currencies', 'salesorders', 'salesorderdetails'),
      customers: {
        query: `SELECT debtorno, name, address1, address3, address5, address6
FROM ${sql('debtorsmaster')}`,
        key: ['debtorno'],
        fields: {
          customer_code: 'debtorno',
          name: { column: 'name', html: 'decode', trim: true },
          street: text('address1'),
          city: text('address3'),
          postcode: text('address5'),
          country: text('address6'),
        },
      },
      orders: {
        query: `SELECT o.orderno, o.debtorno, o.customerref, o.orddate, o.quotation, d.currcode AS currency
FROM ${ofOrder}`,
        key: ['orderno'],
        customerKey: ['debtorno'],
        number: 'orderno',
        startColumn: 'orddate',
        status: 'quotation',
        currency: 'currency',
        confirmed: { condition: 'quotation = 0', meaning: 'orders, not quotations' },
        fields: {},
      },
      lines: {
        query: `SELECT l.orderno, l.orderlineno, l.stkcode, ${exact('l.quantity')} AS qty,
  ROUND(${exact('l.quantity')} * ${exact('l.unitprice')} * (1 - ${exact('l.discountpercent')}), ${decimals}) AS amount
FROM ${sql('salesorderdetails')} l
JOIN ${sql('salesorders')} o ON o.orderno = l.orderno
LEFT JOIN ${sql('debtorsmaster')} d ON d.debtorno = o.debtorno
${ofCurrency}${freight}`,
        orderKey: ['orderno'],
        sortBy: ['orderlineno'],
        fields: { sku: 'stkcode', qty: 'qty' },
        amount: 'amount',
      },
      comments: {
        'customers.key': 'webERP keeps no time of change: only sweeps find changes (capture.sweepMinutes).',
        'orders.key':
          'webERP keeps no time of change and no total of an order: only sweeps find changes (capture.sweepMinutes).',
        ...(freight && { 'orders.lines.query': 'The freight of an order is a line with the SKU FREIGHT.' }),
        'orders.lines.amount':
          'quantity × unitprice less the discount (a fraction), without tax, rounded to the decimals of the currency.',
      },
    };
  },
};
