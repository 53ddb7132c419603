import { expect } from 'chai';
import { editSampleLine, insertSampleOrder } from '../../support/change-sample-erp.js';
import { onSqliteLabAnd } from '../../support/jobs/job-lab.js';

/** Habits of real ERPs: Dolibarr, webERP, FrontAccounting, ERPNext and Odoo. */
onSqliteLabAnd('mysql', 'an ERP', (kit) => {
  const boundKeys = async () =>
    (await kit.rows("SELECT source_key FROM binding WHERE entity='order' ORDER BY source_key")).map((row) =>
      String(row.source_key),
    );

  it('whose orders share a number until they have one of their own sends each as an order of its own', async () => {
    const query =
      "SELECT id, 'auto' AS order_no, customer_id, status, currency, total, created_at, updated_at FROM sales_orders";
    const lab = await kit.start({ settings: { orders: { query } } });
    const { captured } = await lab.capture({ sweep: true });
    await lab.deliver();
    const keys = await boundKeys();
    expect(keys).to.have.length(captured.orders).and.not.to.have.length(1);
    const { orders } = lab.sandbox.ledger();
    expect(orders).to.have.length(keys.length);
    expect(new Set(orders.map(({ record }) => record.note))).to.deep.equal(new Set(['auto']));
    const [edited = ''] = keys;
    await editSampleLine(lab.erp, Number(edited), 1, 9);
    expect(await lab.capture({ sweep: true })).to.deep.include({ captured: { customers: 0, orders: 1 } });
    const open = await kit.rows("SELECT source_key, operation FROM outbox_message WHERE state='pending'");
    expect(open).to.deep.equal([{ source_key: edited, operation: 'update' }]);
  });

  it('without a column of changes is followed by sweeps', async () => {
    const lab = await kit.start({
      settings: { orders: { changedAt: undefined }, customers: { changedAt: undefined } },
    });
    await lab.capture();
    await lab.deliver();
    const [edited = ''] = await boundKeys();
    await editSampleLine(lab.erp, Number(edited), 1, 9);
    expect((await lab.capture()).captured, 'no sweep is due').to.deep.equal({ customers: 0, orders: 0 });
    expect((await lab.capture({ sweep: true })).captured).to.deep.equal({ customers: 0, orders: 1 });
  });

  it('with the same product twice in an order sends both lines, and the same order each time', async () => {
    const lab = await kit.start({ settings: { orders: { total: undefined } } });
    const [row] = await lab.readErp(
      "SELECT o.id, l.product_id, l.qty, l.unit_price FROM sales_orders o JOIN sales_order_lines l ON l.order_id=o.id WHERE o.status='confirmed' AND o.currency='EUR' AND o.created_at>='2026-01-01' ORDER BY o.id, l.line_no LIMIT 1",
    );
    const { id = '', product_id: product = '', qty = '', unit_price: price = '' } = row ?? {};
    await lab.changeErp(
      'INSERT INTO sales_order_lines (id, order_id, line_no, product_id, qty, unit_price) VALUES (9001, ?, 99, ?, ?, ?)',
      [id, product, qty, price],
    );
    await lab.capture({ sweep: true });
    await lab.deliver();
    const [bound] = await kit.rows("SELECT service_id FROM binding WHERE entity='order' AND source_key=?", [
      String(id),
    ]);
    const order = lab.sandbox.ledger().orders.find(({ order_id }) => order_id === bound?.service_id);
    const [first] = order?.record.items ?? [];
    const twice = order?.record.items.filter((item) => JSON.stringify(item) === JSON.stringify(first));
    expect(twice).to.have.length(2);
    expect((await lab.capture({ sweep: true })).captured).to.deep.equal({ customers: 0, orders: 0 });
  });

  it('that multiplies the rows of one waiting order keeps no other from its lines', async () => {
    const query = `SELECT o.*, s.carrier FROM sales_orders o LEFT JOIN (SELECT 1 AS n, 'DHL' AS carrier UNION ALL SELECT 2, 'UPS'
        UNION ALL SELECT 3, 'GLS') s ON o.remark='thrice'`;
    const lab = await kit.start({ customers: 2, orders: 4, settings: { orders: { query } } });
    await lab.capture();
    const waiting = [await insertSampleOrder(lab.erp), await insertSampleOrder(lab.erp)];
    const ids = waiting.map(({ id }) => id);
    await lab.changeErp('UPDATE sales_orders SET total=total+1 WHERE id IN (?,?)', ids);
    expect((await lab.capture()).waiting).to.equal(2);
    // The rest of the lines comes, and their time lies behind the overlap by now.
    await lab.changeErp(
      "UPDATE sales_orders SET total=total-1, updated_at='2026-02-01 10:00:00.000000' WHERE id IN (?,?)",
      ids,
    );
    await lab.changeErp("UPDATE sales_orders SET remark='thrice' WHERE id=?", [ids[0] as number]);
    await lab.capture();
    const messages = await kit.rows(
      "SELECT source_key, state FROM outbox_message WHERE source_key IN (?,?) AND entity='order' ORDER BY id",
      ids.map(String),
    );
    expect(messages).to.deep.equal([
      { source_key: String(ids[0]), state: 'parked' },
      { source_key: String(ids[1]), state: 'pending' },
    ]);
  });
});
