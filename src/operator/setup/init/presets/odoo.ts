import type { Preset } from './preset.js';

/**
 * Odoo, from 12 on. Times are UTC without a zone. Sections and notes are lines with a display_type; a
 * line of nothing, such as one for a down payment, has neither quantity nor amount. Older versions keep
 * the currency of an order in its price list.
 */
export const odoo: Preset = {
  name: 'odoo',
  title: 'Odoo',
  signature: {
    sale_order: ['id', 'name', 'partner_id', 'state', 'amount_untaxed', 'create_date', 'write_date'],
    sale_order_line: ['id', 'order_id', 'sequence', 'product_id', 'product_uom_qty', 'price_subtotal', 'display_type'],
    res_partner: ['id', 'name', 'parent_id', 'country_id', 'write_date'],
    product_product: ['id', 'default_code'],
    res_currency: ['id', 'name'],
    res_country: ['id', 'code'],
  },
  draft({ sql, has, only }) {
    const currencyOf = has('sale_order', 'currency_id')
      ? `LEFT JOIN ${sql('res_currency')} cur ON cur.id = o.currency_id`
      : `LEFT JOIN ${sql('product_pricelist')} list ON list.id = o.pricelist_id
LEFT JOIN ${sql('res_currency')} cur ON cur.id = list.currency_id`;
    const company = has('sale_order', 'company_id') ? ' o.company_id,' : '';
    const isPriceList = !has('sale_order', 'currency_id');
    return {
      title: 'Odoo',
      tables: only(
        ...['res_partner', 'res_country', 'res_currency', 'sale_order', 'sale_order_line', 'product_product'],
        ...(isPriceList ? ['product_pricelist'] : []),
      ),
      timeZone: 'UTC',
      customers: {
        query: `SELECT p.id, 'P' || p.id AS code, COALESCE(NULLIF(p.name, ''), parent.name) AS name, p.email, p.street,
  p.zip, p.city, c.code AS country, p.write_date
FROM ${sql('res_partner')} p
LEFT JOIN ${sql('res_partner')} parent ON parent.id = p.parent_id
LEFT JOIN ${sql('res_country')} c ON c.id = p.country_id`,
        key: ['id'],
        changedAt: 'write_date',
        fields: {
          customer_code: 'code',
          name: 'name',
          email: { column: 'email', optional: true },
          street: { column: 'street', optional: true },
          postcode: { column: 'zip', optional: true },
          city: { column: 'city', optional: true },
          country: { column: 'country', optional: true },
        },
      },
      orders: {
        query: `SELECT o.id, o.name, o.partner_id, o.state,${company} cur.name AS currency, o.amount_untaxed, o.create_date,
  o.write_date
FROM ${sql('sale_order')} o
${currencyOf}`,
        key: ['id'],
        changedAt: 'write_date',
        customerKey: ['partner_id'],
        number: 'name',
        total: 'amount_untaxed',
        startColumn: 'create_date',
        status: 'state',
        currency: 'currency',
        ...(company && { company: 'company_id' }),
        confirmed: { condition: "state IN ('sale', 'done')", meaning: 'confirmed, or locked' },
        cancelled: { column: 'state', values: ['cancel'] },
        fields: {},
      },
      lines: {
        query: `SELECT l.order_id, l.sequence, l.id, p.default_code, l.product_uom_qty AS qty, l.price_subtotal AS amount
FROM ${sql('sale_order_line')} l
LEFT JOIN ${sql('product_product')} p ON p.id = l.product_id
WHERE l.display_type IS NULL AND (COALESCE(l.product_uom_qty, 0) <> 0 OR COALESCE(l.price_subtotal, 0) <> 0)`,
        orderKey: ['order_id'],
        sortBy: ['sequence', 'id'],
        fields: { sku: 'default_code', qty: 'qty' },
        amount: 'amount',
      },
      comments: {
        'erp.timeZone':
          "Odoo keeps times in UTC. For the date that people see: (date_order AT TIME ZONE 'UTC' AT TIME ZONE 'Europe/Berlin')::date",
        'orders.changedAt':
          'The start of the transaction that wrote the row: the overlap and the sweep find what was committed later.',
        'orders.pending':
          'state: draft and sent are quotations, sale is confirmed, done is locked, cancel is cancelled.',
        'orders.lines.amount':
          'price_subtotal: after the discount, without tax. The price for one is worked out from it.',
      },
    };
  },
};
