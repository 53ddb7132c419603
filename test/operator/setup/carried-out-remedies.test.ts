import { expect } from 'chai';
import { type Preview, previewRecords } from '../../../src/operator/setup/preview/preview-records.js';
import { onAnyStore } from '../../store/stores.js';
import { type Lab, useLab } from '../../support/jobs/job-lab.js';
import { merge, type Tree } from '../../support/merge-settings.js';

/** SQL on a small shop, the settings that it is read with, and the words of a remedy with what a person fills in. */
interface Trial {
  sql?: string[];
  settings?: Tree;
  /** Settings as a remedy writes them, and the names that stand in for those of the ERP. */
  follow: RegExp;
  names?: Record<string, string>;
  /** What the order then comes to. */
  items: unknown;
}

const lineQuery = `SELECT l.order_id, l.line_no, p.sku, l.qty, l.unit_price
  FROM sales_order_lines l LEFT JOIN products p ON p.id=l.product_id`;
const withOrders = (columns: string) => ({ query: `SELECT o.*, ${columns} FROM sales_orders o`, total: 'total' });

const trials: Record<string, Trial> = {
  'a cent of rounding in an order whose lines are each rounded': {
    sql: ["UPDATE sales_order_lines SET unit_price='1.005'", "UPDATE sales_orders SET total='2.01'"],
    settings: {
      amounts: { rounding: 'half-up' },
      orders: { total: 'total', lines: { unit: { factor: 1 } } },
    },
    follow: /orders\.lines\.rounding: {sku: ROUNDING}/,
    items: [
      { sku: 'A', qty: 1, price: 101 },
      { sku: 'A', qty: 1, price: 101 },
      { sku: 'ROUNDING', qty: 1, price: -1 },
    ],
  },
  'freight, which the total has and the lines have not': {
    sql: ["UPDATE sales_orders SET total='6.92'"],
    settings: { orders: withOrders('4.90 AS freight') },
    follow: /or (orders\.lines\.query: .*);/,
    names: { FREIGHT_COLUMN: 'freight' },
    items: [
      { sku: 'FREIGHT', qty: 1, price: 490 },
      { sku: 'A', qty: 1, price: 101 },
      { sku: 'A', qty: 1, price: 101 },
    ],
  },
  'a discount of the whole order': {
    sql: ["UPDATE sales_orders SET total='1.52'"],
    settings: { orders: withOrders('-0.50 AS rebate') },
    follow: /or (orders\.lines\.query: .*);/,
    names: { FREIGHT_COLUMN: 'rebate', "'FREIGHT'": "'REBATE'" },
    items: [
      { sku: 'REBATE', qty: 1, price: -50 },
      { sku: 'A', qty: 1, price: 101 },
      { sku: 'A', qty: 1, price: 101 },
    ],
  },
  'prices with a tax that another column has as well': {
    sql: ["UPDATE sales_orders SET total='1.70'"],
    settings: { orders: withOrders('2.02 AS gross_total') },
    follow: /(orders\.total): /,
    names: { 'orders.total': 'orders.total: gross_total' },
    items: [
      { sku: 'A', qty: 1, price: 101 },
      { sku: 'A', qty: 1, price: 101 },
    ],
  },
  'prices with a tax that no column has': {
    sql: ["UPDATE sales_orders SET total='1.70'"],
    settings: { orders: { total: 'total' } },
    follow:
      /with the net price, such as (?<price>unit_price .* AS unit_price), (orders\.lines\.unit: .*), (orders\.lines\.rounding: .*) and (amounts\.rounding: half-up)/,
    names: { RATE: '19' },
    items: [
      { sku: 'A', qty: 1, price: 85 },
      { sku: 'A', qty: 1, price: 85 },
    ],
  },
  'lines without a SKU that have a price': {
    sql: ['UPDATE sales_order_lines SET product_id=NULL WHERE line_no=2'],
    settings: { orders: { lines: { query: lineQuery } } },
    follow: /orders\.lines\.text: {sku: TEXT}/,
    items: [
      { sku: 'A', qty: 1, price: 101 },
      { sku: 'TEXT', qty: 1, price: 101 },
    ],
  },
};

/** `a.b: value` as settings. */
function settingsOf(text: string): Tree {
  const [, path = '', value = ''] = /^([\w.]+): (.*)$/s.exec(text) ?? [];
  const [, name, inner] = /^{(\w+): (\w+)}$/.exec(value) ?? [];
  const given = name === undefined ? value : { [name]: /^\d+$/.test(inner ?? '') ? Number(inner) : inner };
  return path
    .split('.')
    .reverse()
    .reduce<unknown>((within, part) => ({ [part]: within }), given) as Tree;
}

// The ERP is a SQLite file whatever the store.
onAnyStore('the remedies of preview, carried out', (store) => {
  const kit = useLab(store, 'sqlite');

  for (const [name, { sql = [], settings = {}, follow, names = {}, items }] of Object.entries(trials))
    it(`send what was kept back: ${name}`, async () => {
      const lab = await shop(sql);
      const broken = lab.another({ settings });
      const { causes, orders } = await preview(broken);
      expect(orders.parked).to.equal(1);
      const remedies = causes.flatMap((one) => one.remedies);
      const remedy = remedies.find((one) => follow.test(one));
      expect(remedy, remedies.join('\n')).to.be.a('string');
      const match = follow.exec(remedy ?? '') as RegExpExecArray;
      const { price } = match.groups ?? {};
      const named = (match.length > 1 ? match.slice(1) : [match[0]]).filter((part) => part !== price);
      if (price) {
        const net = `l.${price}`.replace('RATE', names.RATE ?? '');
        named.push(`orders.lines.query: ${lineQuery.replace('l.unit_price', net)}`);
      }
      const filled = named.map((text) =>
        Object.entries(names).reduce((sql, [placeholder, own]) => sql.replaceAll(placeholder, own), text),
      );
      const taken = filled.map(settingsOf).reduce(merge, settings);
      const mended = lab.another({ settings: taken });
      const after = await preview(mended);
      expect(after.causes).to.deep.equal([]);
      await mended.capture();
      const [row] = await kit.rows(
        "SELECT b.record FROM outbox_message m JOIN message_body b ON b.message_id=m.id WHERE m.entity='order'",
      );
      expect(JSON.parse(row.record).items).to.deep.equal(items);
    });

  /** One order with two lines of 1 × 1.01. */
  async function shop(sql: readonly string[]): Promise<Lab> {
    const lab = await kit.start({
      customers: 1,
      orders: 1,
      settings: { orders: { total: undefined, pending: "status='confirmed'" } },
    });
    const kept =
      "SELECT MIN(id) FROM sales_orders WHERE status='confirmed' AND currency='EUR' AND created_at>='2026-01-01'";
    await lab.changeErp(`DELETE FROM sales_orders WHERE id<>(${kept})`);
    await lab.changeErp('DELETE FROM sales_order_lines');
    for (const line of [1, 2])
      await lab.changeErp(
        `INSERT INTO sales_order_lines SELECT ${line}, id, ${line}, (SELECT MIN(id) FROM products), 1, '1.01' FROM sales_orders`,
      );
    await lab.changeErp("UPDATE products SET sku='A' WHERE id=(SELECT MIN(id) FROM products)");
    await lab.changeErp("UPDATE sales_orders SET total='2.02'");
    for (const one of sql) await lab.changeErp(one);
    return lab;
  }
  const preview = (under: Lab): Promise<Preview> => previewRecords(under.context, under.reader, {});
});
