import { expect } from 'chai';
import { onAnyLab } from '../../support/jobs/job-lab.js';

const note = 'A-2026-000003';

onAnyLab('an answer that proves nothing', (kit) => {
  it('503 with Retry-After: a later refusal is no proof either, and an edit makes no second record', async () => {
    const lab = await kit.start({
      orders: 4,
      sandbox: { replayRefusals: true },
      settings: { service: { idempotency: { replaysRefusals: true } } },
    });
    const match = { method: 'POST', path: '/v1/orders', bodyIncludes: note };
    lab.sandbox.setFaults([
      { kind: 'status', status: 503, headers: { 'retry-after': '1' }, effect: 'done', match, times: 1 },
      { kind: 'status', status: 400, match, times: 1 },
    ]);
    await lab.capture();
    await lab.deliver({ retryHorizonMs: 5_000 });
    const [parked] = await kit.rows('SELECT * FROM outbox_message WHERE number=?', [note]);
    expect(parked).to.include({ state: 'parked', park_class: 'unproven' });

    await lab.changeErp(
      "UPDATE sales_orders SET order_no='A-2026-000003', remark='edited', customer_id=1 WHERE order_no=?",
      [note],
    );
    await lab.changeErp(
      'UPDATE sales_order_lines SET qty=qty+1 WHERE order_id=(SELECT id FROM sales_orders WHERE order_no=?)',
      [note],
    );
    await lab.changeErp(
      'UPDATE sales_orders SET total=(SELECT ROUND(SUM(qty*unit_price),2) FROM sales_order_lines WHERE order_id=sales_orders.id) WHERE order_no=?',
      [note],
    );
    await lab.capture({ sweep: true });
    await lab.deliver({ retryHorizonMs: 2_000 });
    expect(lab.sandbox.counts().duplicateReferences).to.equal(0);
    expect(lab.sandbox.counts().orders).to.equal(4);
  });

  it('an update that ended without proof: the next one says everything, and the service ends as the ERP is', async () => {
    const lab = await kit.start({ customers: 1, orders: 1 });
    await lab.capture();
    await lab.deliver();
    const [customer] = lab.sandbox.ledger().customers;
    const before = customer?.record.name;
    const rename = async (name: string) => {
      await lab.changeErp('UPDATE customers SET name=? WHERE customer_no=?', [name, customer?.customer_code as string]);
      await lab.capture({ sweep: true });
      await lab.deliver({ retryHorizonMs: 3_000 });
    };
    const match = { method: 'PATCH', path: '/v1/customers' };
    lab.sandbox.setFaults([
      { kind: 'reset-after-commit', match, times: 1 },
      { kind: 'status', status: 400, match, times: 1 },
    ]);
    await rename('Name B');
    const nameThere = () => lab.sandbox.ledger().customers[0]?.record.name;
    expect(nameThere()).to.equal('Name B');
    expect(await kit.rows("SELECT * FROM outbox_message WHERE park_class='unproven'")).to.have.length(1);

    await rename(String(before));
    expect(nameThere()).to.equal(before);
  });
});
