import { expect } from 'chai';
import { insertSampleOrder } from '../../support/change-sample-erp.js';
import { onSqliteLabAnd } from '../../support/jobs/job-lab.js';

onSqliteLabAnd('mysql', 'texts that are longer than their columns', (kit) => {
  it('one order with 800 bad lines is parked, and the next one is sent', async function () {
    this.timeout(60_000);
    const lab = await kit.start({ customers: 2, orders: 3, settings: { orders: { settleSeconds: 0 } } });
    await lab.capture();
    const bad = await insertSampleOrder(lab.erp, { lines: Array.from({ length: 800 }, () => ({ qty: 1 })) });
    await lab.changeErp(`UPDATE sales_order_lines SET product_id=9999999 WHERE order_id=${bad.id}`);
    const good = await insertSampleOrder(lab.erp, { lines: [{ qty: 3 }] });
    await lab.capture();
    await lab.capture({ sweep: true });
    await lab.deliver();
    const [row] = await kit.rows(
      "SELECT state, park_class, reason_code, reason_data FROM outbox_message WHERE entity='order' AND source_key=?",
      [String(bad.id)],
    );
    expect(row).to.include({ state: 'parked', park_class: 'unmapped' });
    expect(row.reason).to.have.length.at.most(1_000);
    expect(row.reason).to.contain('and 795 more');
    expect(lab.sandbox.ledger().orders.map(({ reference }) => reference)).to.include(good.orderNo);
  });

  it('an acknowledgement and a failed look at a list with a request id of 400 characters are on record', async () => {
    const lab = await kit.start({ customers: 1, orders: 2 });
    await lab.capture();
    await lab.deliver();
    const answer = {
      data: [{ invoice_no: 'INV-1', amount: 1999, customer_code: 'K1', due_date: '2026-12-01', status: 'unpaid' }],
      total: 1,
      page: 1,
    };
    lab.sandbox.setFaults([
      {
        kind: 'status',
        status: 200,
        headers: { 'x-request-id': 'r'.repeat(400) },
        body: answer,
        match: { method: 'GET', path: '/v2/invoices' },
      },
    ]);
    await lab.pull();
    const [attempt] = await kit.rows('SELECT request_id FROM attempt WHERE message_id IS NULL ORDER BY id LIMIT 1');
    expect(attempt.request_id === null || attempt.request_id.length <= 255).to.equal(true);
  });

  it('a customer whose code has 600 characters waits for a person, and the others are sent', async () => {
    const lab = await kit.start({ customers: 2, orders: 3 });
    if (kit.erpType === 'mysql') await lab.changeErp('ALTER TABLE customers MODIFY customer_no TEXT');
    await lab.changeErp('UPDATE customers SET customer_no=? WHERE id=1', ['K'.repeat(600)]);
    await lab.capture();
    await lab.deliver();
    await lab.capture({ sweep: true });
    const parked = await kit.rows(
      "SELECT source_key, reason_code, reason_data FROM outbox_message WHERE entity='customer' AND state='parked'",
    );
    expect(parked.map((row) => row.source_key)).to.deep.equal(['1']);
    expect(parked[0].reason).to.include('has 600 characters, more than the 255 that name a record');
    expect(lab.sandbox.ledger().customers).to.have.length(1);
  });

  it('a change time of 200 characters stops no page', async () => {
    const lab = await kit.start({ customers: 1, orders: 3 });
    await lab.changeErp(
      kit.erpType === 'mysql'
        ? 'ALTER TABLE sales_orders MODIFY updated_at VARCHAR(300)'
        : 'ALTER TABLE sales_orders ADD COLUMN unused TEXT',
    );
    await lab.changeErp('UPDATE sales_orders SET updated_at=? WHERE id=2', [`2026-11-01 00:00:00${' '.repeat(180)}x`]);
    await lab.capture({ sweep: true });
    await lab.capture();
    expect(await kit.rows("SELECT COUNT(*) AS n FROM outbox_message WHERE entity='order'")).to.deep.equal([{ n: 3 }]);
  });
});
