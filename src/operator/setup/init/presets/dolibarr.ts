import type { Preset } from './preset.js';

/**
 * Dolibarr, from 3.7 on. Amounts are doubles of eight decimals. An order in a foreign currency has its own amounts beside
 * those of the company. Codes of fk_statut: -1 cancelled, 0 draft, 1 validated, 2 being shipped, 3 delivered.
 */
export const dolibarr: Preset = {
  name: 'dolibarr',
  title: 'Dolibarr',
  prefix: /_$/,
  signature: {
    commande: ['rowid', 'ref', 'fk_soc', 'fk_statut', 'total_ht', 'date_creation', 'tms'],
    commandedet: ['rowid', 'fk_commande', 'fk_product', 'qty', 'total_ht', 'rang'],
    societe: ['rowid', 'nom', 'code_client', 'fk_pays'],
    product: ['rowid', 'ref'],
    const: ['name', 'value', 'entity'],
  },
  draft({ sql, has, only }) {
    const isMulti = has('commande', 'multicurrency_code');
    const own = ['o.entity', '0']
      .map(
        (entity) =>
          `(SELECT MAX(k.value) FROM ${sql('const')} k WHERE k.name = 'MAIN_MONNAIE' AND k.entity = ${entity})`,
      )
      .join(', ');
    // Modules keep subtotals and titles as lines of this type.
    const special = has('commandedet', 'product_type') ? '\nWHERE COALESCE(l.product_type, 0) <> 9' : '';
    const amount = (table: string) =>
      isMulti && has(table === 'o' ? 'commande' : 'commandedet', 'multicurrency_total_ht')
        ? `CASE WHEN COALESCE(o.multicurrency_tx, 1) IN (0, 1) THEN ${table}.total_ht ELSE ${table}.multicurrency_total_ht END`
        : `${table}.total_ht`;
    const exact = (value: string) => `CAST(${value} AS DECIMAL(24, 8))`;
    const country = has('c_country') ? 'c_country' : 'c_pays';
    return {
      title: 'Dolibarr',
      tables: only('societe', country, 'commande', 'commandedet', 'product', 'const'),
      customers: {
        query: `SELECT s.rowid, COALESCE(NULLIF(s.code_client, ''), CONCAT('ROWID-', s.rowid)) AS code, s.nom,
  s.email, s.phone, s.address, s.zip, s.town, c.code AS country, s.tms
FROM ${sql('societe')} s
LEFT JOIN ${sql(country)} c ON c.rowid = s.fk_pays`,
        key: ['rowid'],
        changedAt: 'tms',
        fields: {
          customer_code: 'code',
          name: 'nom',
          email: { column: 'email', optional: true },
          phone: { column: 'phone', optional: true },
          street: { column: 'address', optional: true },
          postcode: { column: 'zip', optional: true },
          city: { column: 'town', optional: true },
          country: { column: 'country', optional: true },
        },
      },
      orders: {
        query: `SELECT o.rowid, o.ref, o.ref_client, o.fk_soc, o.fk_statut, o.entity, o.date_commande, o.date_creation, o.tms,
  COALESCE(${isMulti ? "NULLIF(o.multicurrency_code, ''), " : ''}${own}) AS currency,
  ${exact(amount('o'))} AS total_ht
FROM ${sql('commande')} o`,
        key: ['rowid'],
        changedAt: 'tms',
        customerKey: ['fk_soc'],
        number: 'ref',
        total: 'total_ht',
        startColumn: 'date_creation',
        status: 'fk_statut',
        currency: 'currency',
        company: 'entity',
        // Delivered ones too: an order may be delivered before Waybill has met it.
        confirmed: { condition: 'fk_statut IN (1, 2, 3)', meaning: 'validated, being shipped, or delivered' },
        cancelled: { column: 'fk_statut', values: [-1] },
        fields: {},
      },
      lines: {
        query: `SELECT l.fk_commande, l.rang, l.rowid, p.ref AS sku, ${exact('l.qty')} AS qty,
  ${exact(amount('l'))} AS amount
FROM ${sql('commandedet')} l
JOIN ${sql('commande')} o ON o.rowid = l.fk_commande
LEFT JOIN ${sql('product')} p ON p.rowid = l.fk_product${special}`,
        orderKey: ['fk_commande'],
        sortBy: ['rang', 'rowid'],
        fields: { sku: 'sku', qty: 'qty' },
        amount: 'amount',
      },
      comments: {
        'orders.query':
          "Its table of constants holds passwords of Dolibarr too. Where all orders have one currency, write it, such as 'EUR' AS currency, instead of the subselects; then the account needs no right in that table.",
        'orders.changedAt': 'tms does not move when only a line changes: the sweep finds that (capture.sweepMinutes).',
        'orders.pending': 'fk_statut: -1 cancelled, 0 draft, 1 validated, 2 being shipped, 3 delivered.',
        'orders.lines.amount':
          'total_ht of a line: after its discount, without tax. The price for one is worked out from it.',
      },
    };
  },
};
