import { expect } from 'chai';
import { parse } from 'yaml';
import { previewRecords } from '../../src/operator/setup/preview/preview-records.js';
import { onAnyStore } from '../store/stores.js';
import { cancelSampleOrder } from '../support/change-sample-erp.js';
import { useLab } from '../support/jobs/job-lab.js';
import { merge, type Tree } from '../support/merge-settings.js';
import { documents } from './documents.js';

/** The settings of the examples under a heading of docs/mapping.md, all together. */
function examplesOf(heading: string): Tree {
  const page = documents().find(({ fences }) => fences.some(({ text }) => text.includes('shop_customers')));
  const blocks = (page?.fences ?? []).filter(({ language }) => language === 'yaml').map(({ text }) => text);
  const table = heading === 'shops' ? 'shop_' : 'erp_';
  return blocks
    .filter((text) => text.includes(table))
    .map((text) => parse(text) as Tree)
    .reduce(merge);
}

/** As `merge`, but what is undefined stays, to take out settings of the lab. */
function over(base: Tree, more: Tree): Tree {
  const merged: Tree = { ...base };
  for (const [name, value] of Object.entries(more)) {
    const before = merged[name];
    const areTrees = [before, value].every((one) => typeof one === 'object' && one !== null && !Array.isArray(one));
    merged[name] = areTrees ? over(before as Tree, value as Tree) : value;
  }
  return merged;
}

// The ERP is a SQLite file whatever the store.
onAnyStore('the examples of docs/mapping.md', (store) => {
  const kit = useLab(store, 'sqlite');
  const start = async (examples: Tree, more: Tree, tables: readonly string[]) => {
    const lab = await kit.start({ customers: 1, orders: 1 });
    for (const one of tables) await lab.changeErp(one);
    return { lab, shop: lab.another({ settings: over(examples, more) }) };
  };
  const sent = async () => {
    const rows = await kit.rows(
      "SELECT m.entity, b.record FROM outbox_message m JOIN message_body b ON b.message_id=m.id WHERE m.state<>'superseded' ORDER BY m.entity, m.source_key",
    );
    return rows.map(({ record }) => JSON.parse(record));
  };

  it('send a shop’s guests, names, freight, discount and tax, and what kept them back is gone', async () => {
    const more = {
      customers: { fields: { street: undefined, postcode: undefined, city: undefined, country: undefined } },
      orders: { key: 'id', number: 'id', startFrom: 'all', changedAt: 'changed_at', pending: "state = 'paid'" },
    };
    const { lab, shop } = await start(examplesOf('shops'), more, [
      'CREATE TABLE shop_customers (id INTEGER, first_name TEXT, last_name TEXT, email TEXT, changed_at DATETIME)',
      `CREATE TABLE shop_orders (id INTEGER, customer_id INTEGER, first_name TEXT, last_name TEXT, email TEXT, state TEXT,
         grand_total DECIMAL(12,2), freight DECIMAL(12,2), discount DECIMAL(12,2), tax DECIMAL(12,2), changed_at DATETIME)`,
      'CREATE TABLE shop_items (order_id INTEGER, line_no INTEGER, sku TEXT, qty INTEGER, price DECIMAL(12,2))',
      "INSERT INTO shop_customers VALUES (1, 'Änne', 'Weiß', 'anne@example.com', '2026-11-01 08:00:00')",
      `INSERT INTO shop_orders VALUES (1, 1, NULL, NULL, NULL, 'paid', 27.51, 4.90, 1.50, 4.11, '2026-11-01 08:00:00'),
         (2, NULL, 'Bob', 'Guest', NULL, 'paid', 10.00, 0, 0, 0, '2026-11-01 08:00:00')`,
      "INSERT INTO shop_items VALUES (1, 1, 'A', 2, 10.00), (2, 1, 'B', 1, 10.00)",
    ]);
    // As it is without the examples of guests and freight.
    const plain = over(examplesOf('shops'), more);
    const query = { query: "SELECT o.*, 'C' || customer_id AS buyer FROM shop_orders o" };
    const lines = { query: 'SELECT order_id, line_no, sku, qty, price FROM shop_items' };
    const before = lab.another({ settings: over(plain, { orders: { ...query, lines } }) });
    const { causes } = await previewRecords(before.context, before.reader, {});
    expect(causes.map(({ cause }) => cause.code)).to.have.members(['customer_not_named', 'lines_total_differs']);
    expect(causes.flatMap(({ remedies }) => remedies).join('\n')).to.contain('docs/mapping.md, "Guests"');

    expect(await shop.capture({ sweep: true })).to.include({ parked: 0 });
    expect(await sent()).to.deep.equal([
      { customer_code: 'C1', name: 'Änne Weiß', email: 'anne@example.com' },
      { customer_code: 'G2', name: 'Bob Guest' },
      {
        customer_code: 'C1',
        note: '1',
        items: [
          { sku: 'A', qty: 2, price: 1000 },
          { sku: 'FREIGHT', qty: 1, price: 490 },
          { sku: 'DISCOUNT', qty: 1, price: -150 },
          { sku: 'TAX', qty: 1, price: 411 },
        ],
      },
      { customer_code: 'G2', note: '2', items: [{ sku: 'B', qty: 1, price: 1000 }] },
    ]);
  });

  it('send orders with binary keys, and remove one whose mark stands in another table', async () => {
    const more = {
      customers: {
        fields: { email: undefined, street: undefined, postcode: undefined, city: undefined, country: undefined },
      },
      orders: { startFrom: 'all' },
    };
    const { lab, shop } = await start(examplesOf('ERPs'), more, [
      'CREATE TABLE erp_partners (id BLOB, name TEXT, changed_at DATETIME)',
      'CREATE TABLE erp_orders (id BLOB, partner_id BLOB, number TEXT, total DECIMAL(12,2), changed_at DATETIME)',
      'CREATE TABLE erp_lines (order_id BLOB, line_no INTEGER, sku TEXT, qty INTEGER, price DECIMAL(12,2))',
      'CREATE TABLE erp_entities (id BLOB, deleted INTEGER)',
      "INSERT INTO erp_partners VALUES (x'0a01', 'Firma', '2026-11-01 08:00:00')",
      "INSERT INTO erp_orders VALUES (x'ff01', x'0a01', 'S1', 5.00, '2026-11-01 08:00:00'), (x'ff02', x'0a01', 'S2', 6.00, '2026-11-01 08:00:00')",
      "INSERT INTO erp_lines VALUES (x'ff01', 1, 'A', 1, 5.00), (x'ff02', 1, 'A', 1, 6.00)",
      "INSERT INTO erp_entities VALUES (x'ff01', 0), (x'ff02', 1)",
    ]);
    expect(await shop.capture({ sweep: true })).to.include({ parked: 0 });
    await shop.deliver();
    const references = () => shop.sandbox.ledger().orders.map(({ reference, total }) => [reference, total]);
    expect(references()).to.deep.equal([['S1', 500]]);
    await lab.changeErp("UPDATE erp_entities SET deleted=1 WHERE id=x'ff01'");
    await shop.capture({ sweep: true });
    await shop.deliver();
    expect(references()).to.deep.equal([]);
  });

  it('tell the sandbox of an order that is cancelled after it was sent', async () => {
    const blocks = documents().flatMap(({ fences }) => fences.map(({ text }) => text));
    const block = blocks.find((text) => text.includes('onCancelled: { patch: { status: cancelled } }')) ?? '';
    const lab = await kit.start({ customers: 1, orders: 1, settings: parse(block) });
    await lab.capture();
    await lab.deliver();
    const [order] = await kit.rows("SELECT source_key FROM binding WHERE entity='order'");
    await cancelSampleOrder(lab.erp, Number(order.source_key));
    await lab.capture();
    await lab.deliver();
    expect(lab.sandbox.ledger().orders.map(({ status }) => status)).to.deep.equal(['cancelled']);
    expect(await kit.rows("SELECT id FROM outbox_message WHERE state='parked'")).to.deep.equal([]);
  });
});
