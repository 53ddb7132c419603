import { expect } from 'chai';
import type { FaultInput } from '../../../src/lab/sandbox/fault-plan.js';
import { editSampleLine, insertSampleOrder } from '../../support/change-sample-erp.js';
import { type Lab, onAnyLab } from '../../support/jobs/job-lab.js';
import type { Tree } from '../../support/merge-settings.js';

onAnyLab('a key that another order gets', (kit) => {
  const removeOrder = async (lab: Lab, id: number) => {
    await lab.changeErp('DELETE FROM sales_order_lines WHERE order_id=?', [id]);
    await lab.changeErp('DELETE FROM sales_orders WHERE id=?', [id]);
  };
  /** Another customer's order stands under the key of one that was deleted. */
  const reuse = async (lab: Lab, id: number) => {
    await removeOrder(lab, id);
    const other = await insertSampleOrder(lab.erp, { customerId: 2, lines: [{ qty: 9 }] });
    await lab.changeErp("UPDATE sales_orders SET id=?, order_no='A-NEW' WHERE id=?", [id, other.id]);
    await lab.changeErp('UPDATE sales_order_lines SET order_id=? WHERE order_id=?', [id, other.id]);
  };
  const start = async () => {
    const lab = await kit.start({ customers: 2, orders: 2 });
    const order = await insertSampleOrder(lab.erp, { customerId: 1, lines: [{ qty: 1 }] });
    return { lab, ...order };
  };
  const works = async (lab: Lab) => {
    await lab.capture({ sweep: true });
    await lab.deliver();
  };
  const newestOf = async (id: number) =>
    (
      await kit.rows(
        "SELECT state, park_class, reason_code, reason_data FROM outbox_message WHERE entity='order' AND source_key=? ORDER BY revision DESC LIMIT 1",
        [String(id)],
      )
    )[0];
  const quantityOf = (lab: Lab, orderNo: string) =>
    lab.sandbox.ledger().orders.find(({ reference }) => reference === orderNo)?.record.items[0]?.qty;

  const alias = `SELECT id, order_no AS number, customer_id, status, order_date, currency, total, remark, created_at,
                        updated_at FROM sales_orders`;
  const settingsAfter: [string, Tree, string][] = [
    ['startFrom names another column', { startFrom: { column: 'order_date', from: '2026-01-01' } }, 'order_no was'],
    ['the number has another name', { query: alias, number: 'number' }, 'number was'],
    ['identity names other columns', { identity: ['order_date', 'order_no'] }, 'order_no was'],
    ['identity names columns that it did not have', { identity: ['total', 'customer_id'] }, 'customer_id was'],
  ];
  for (const [name, orders, words] of settingsAfter)
    it(`is no edit of the known one after the settings changed: ${name}`, async () => {
      const { lab, id, orderNo } = await start();
      await works(lab);
      const later = lab.another({ settings: { orders } });
      await works(later);
      await reuse(lab, id);
      await works(later);
      const newest = await newestOf(id);
      expect(newest).to.include({ state: 'parked', park_class: 'conflict' });
      expect(newest.reason).to.include('another record under an old key').and.include(words);
      expect(quantityOf(lab, orderNo)).to.equal(1);
    });

  it('is no edit of the known one where settings and order change at once', async () => {
    const { lab, id, orderNo } = await start();
    await works(lab);
    await reuse(lab, id);
    await works(lab.another({ settings: { orders: { startFrom: { column: 'order_date', from: '2026-01-01' } } } }));
    expect(await newestOf(id)).to.include({ state: 'parked', park_class: 'conflict' });
    expect(quantityOf(lab, orderNo)).to.equal(1);
  });

  const unproven: [string, FaultInput, boolean][] = [
    ['is in doubt', { kind: 'reset-after-commit' }, false],
    ['is in doubt, and edited since', { kind: 'reset-after-commit' }, true],
    ['waits after a 429', { kind: 'status', status: 429 }, false],
    ['waits after a 429, and edited since', { kind: 'status', status: 429 }, true],
  ];
  for (const [name, fault, isEdited] of unproven)
    it(`is no edit of one whose create ${name}`, async () => {
      const { lab, id, orderNo } = await start();
      lab.sandbox.setFaults([{ ...fault, match: { method: 'POST', path: '/v1/orders' } }]);
      await lab.capture({ sweep: true });
      await lab.deliver({ retryHorizonMs: 0 });
      if (isEdited) {
        await editSampleLine(lab.erp, id, 1, 4);
        await lab.capture({ sweep: true });
      }
      await reuse(lab, id);
      await lab.capture({ sweep: true });
      lab.sandbox.clearFaults();
      for (let pass = 0; pass < 2; pass++) await works(lab);
      const newest = await newestOf(id);
      expect(newest).to.include({ state: 'parked', park_class: 'conflict' });
      expect(newest.reason).to.include(`order_no was ${orderNo} and is A-NEW`);
      expect(quantityOf(lab, orderNo)).to.equal(1);
      expect(quantityOf(lab, 'A-NEW')).to.equal(undefined);
    });
});
