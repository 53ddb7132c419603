import { expect } from 'chai';
import { insertSampleOrder } from '../../support/change-sample-erp.js';
import { type Lab, onSqliteLabAnd } from '../../support/jobs/job-lab.js';
import { withMethod } from '../../support/jobs/with-method.js';

onSqliteLabAnd('postgres', 'a create that waited', (kit) => {
  const settings = {
    orders: { onDeleted: 'delete' },
    customers: { onDeleted: 'delete' },
  };
  const orders = () =>
    kit.rows("SELECT source_key, state, reason_code FROM outbox_message WHERE entity='order' ORDER BY id");
  const stateOf = async (key: number) =>
    (await orders()).filter(({ source_key }) => source_key === String(key)).map(({ state }) => state);
  const erase = async (lab: Lab, id: number) => {
    await lab.changeErp('DELETE FROM sales_order_lines WHERE order_id=?', [id]);
    await lab.changeErp('DELETE FROM sales_orders WHERE id=?', [id]);
  };
  const confirmed = async (lab: Lab) => (await insertSampleOrder(lab.erp, {})).id;
  /** A scan that has ended, as the next one of a daemon. */
  const later = async (lab: Lab, sweep: boolean) => {
    await kit.rows('UPDATE outbox_message SET captured_at=captured_at-1000');
    await lab.capture({ sweep });
  };

  for (const sweep of [true, false])
    it(`is withdrawn when its row is gone or not to be sent any more, after a scan over ${sweep ? 'everything' : 'changes'}`, async () => {
      const lab = await kit.start({ customers: 1, orders: 1, settings });
      const [draft, gone, stays] = [await confirmed(lab), await confirmed(lab), await confirmed(lab)];
      await lab.capture({ sweep: true });
      await lab.changeErp("UPDATE sales_orders SET status='draft' WHERE id=?", [draft]);
      await later(lab, sweep);
      // After the last scan, and still before it leaves.
      await erase(lab, gone);
      await lab.deliver();
      expect(lab.sandbox.counts()).to.include({ orders: 2, customers: 1 });
      for (const key of [draft, gone]) {
        const all = await orders();
        expect(all.find(({ source_key }) => source_key === String(key))).to.include({
          state: 'superseded',
          reason_code: 'left_before_sending',
        });
      }
      expect(await stateOf(stays)).to.deep.equal(['delivered']);
      const lines = await kit.rows("SELECT source_key, detail FROM audit_log WHERE outcome='withdrawn' ORDER BY id");
      expect(lines.map(({ source_key }) => source_key)).to.have.members([String(draft), String(gone)]);
      // It is wanted again.
      await lab.changeErp("UPDATE sales_orders SET status='confirmed' WHERE id=?", [draft]);
      await lab.capture({ sweep: true });
      await lab.deliver();
      expect(await stateOf(draft)).to.deep.equal(['superseded', 'delivered']);
      expect(lab.sandbox.counts().orders).to.equal(3);
    });

  it('waits where the ERP can not be asked, says so, and keeps nothing else back', async () => {
    const lab = await kit.start({ customers: 1, orders: 1, settings });
    const [first, second] = [await confirmed(lab), await confirmed(lab)];
    await lab.capture({ sweep: true });
    await later(lab, true);
    await kit.rows(
      "UPDATE outbox_message SET captured_at=captured_at+1000000 WHERE entity='customer' OR source_key=?",
      [String(second)],
    );
    let asked = 0;
    const erp = withMethod(lab.reader, 'eligible', () => {
      asked++;
      return Promise.reject(new Error('the ERP is away'));
    });
    await lab.deliver({ erp, retryHorizonMs: 0 });
    expect(asked).to.equal(1);
    expect(await stateOf(first)).to.deep.equal(['pending']);
    expect(await stateOf(second)).to.deep.equal(['delivered']);
    const waits = (await orders()).find(({ source_key }) => source_key === String(first));
    expect(waits).to.include({ state: 'pending', reason_code: 'erp_not_asked' });
    await kit.rows("UPDATE outbox_message SET next_attempt_at=1 WHERE state='pending'");
    await lab.deliver();
    expect(await stateOf(first)).to.deep.equal(['delivered']);
  });

  it('leaves unasked while no scan has ended since it was captured', async () => {
    const lab = await kit.start({ customers: 1, orders: 3, settings: { orders: { onDeleted: 'delete' } } });
    await lab.capture({ sweep: true });
    const erp = withMethod(lab.reader, 'eligible', () => Promise.reject(new Error('asked')));
    await lab.deliver({ erp, retryHorizonMs: 0 });
    expect(lab.sandbox.counts().orders).to.equal(3);
  });

  it('is never withdrawn when it may have reached the service', async () => {
    const lab = await kit.start({ customers: 1, orders: 1, settings });
    const id = await confirmed(lab);
    await lab.capture({ sweep: true });
    lab.sandbox.setFaults([{ kind: 'reset-after-commit', match: { method: 'POST', path: '/v1/orders' } }]);
    await lab.deliver({ retryHorizonMs: 0 });
    lab.sandbox.clearFaults();
    await lab.changeErp("UPDATE sales_orders SET status='draft' WHERE id=?", [id]);
    await later(lab, true);
    await kit.rows('DELETE FROM lane_pause');
    await kit.rows("UPDATE outbox_message SET next_attempt_at=1 WHERE state='in_doubt'");
    await lab.another({ settings: { service: { idempotency: { lifetimeHours: 24 } } } }).deliver();
    expect(await stateOf(id)).to.deep.equal(['delivered']);
  });
});
