import { expect } from 'chai';
import { useStore } from '../../store/stores.js';
import { alertsInWords } from '../../support/alerts.js';
import { editSampleLine, insertSampleOrder, wallTimeNow } from '../../support/change-sample-erp.js';
import { type Lab, type LabKit, onSqliteLabAnd, useLab } from '../../support/jobs/job-lab.js';

function tests(kit: LabKit): void {
  const sourceAlerts = () => alertsInWords(kit, "cause LIKE 'source.%'");
  const cursorOf = async () =>
    (await kit.rows("SELECT changed_at, high_changed_at FROM capture_cursor WHERE name='order'"))[0];
  const setCursor = (assignment: string, ...values: string[]) =>
    kit.store.transaction('set the cursor', (tx) =>
      tx.run(`UPDATE capture_cursor SET ${assignment} WHERE name='order'`, values),
    );
  const works = async (lab: Lab, options = {}) => {
    const result = await lab.capture(options);
    await lab.deliver();
    return result;
  };
  const atService = (lab: Lab) => lab.sandbox.ledger().orders.map(({ reference }) => reference);

  for (const version of ['this', 'the last'])
    it(`that names another column begins anew, in a store of ${version} version`, async () => {
      const lab = await kit.start({ customers: 2, orders: 4 });
      await lab.changeErp('DROP TABLE IF EXISTS changes');
      await lab.changeErp('CREATE TABLE changes (order_id INTEGER, tms BIGINT)');
      await lab.changeErp('INSERT INTO changes SELECT id, 1767600000+id FROM sales_orders');
      await works(lab);
      if (version === 'the last') await setCursor('mapping_fingerprint=NULL');
      const other = lab.another({
        settings: {
          orders: {
            query: 'SELECT o.*, c.tms FROM sales_orders o JOIN changes c ON c.order_id=o.id',
            changedAt: 'tms',
          },
        },
      });
      const enter = async () => {
        const { id, orderNo } = await insertSampleOrder(lab.erp);
        await lab.changeErp('INSERT INTO changes VALUES (?,?)', [id, Math.floor(Date.now() / 1000)]);
        return orderNo;
      };
      const meanwhile = await enter();
      expect((await other.capture({ dryRun: true })).holds).to.deep.equal([]);
      await works(other);
      expect(atService(lab)).to.include(meanwhile);
      const { changed_at, high_changed_at } = await cursorOf();
      expect(changed_at).to.match(/^\d{10}$/);
      expect(high_changed_at).to.match(/^\d{10}$/);
      const next = await enter();
      expect((await works(other)).read.orders).to.equal(2);
      expect(atService(lab)).to.include(next);
      expect(await sourceAlerts()).to.deep.equal([]);
    });

  it('that names another column of the same form is no sign of a restored ERP', async () => {
    const lab = await kit.start({ customers: 2, orders: 4 });
    const { id } = await insertSampleOrder(lab.erp, { time: '2026-02-20 09:00:00.000000' });
    await lab.changeErp("UPDATE sales_orders SET updated_at='2026-03-01 09:00:00.000000' WHERE id=?", [id]);
    await works(lab);
    const other = lab.another({ settings: { orders: { changedAt: 'created_at' } } });
    await editSampleLine(lab.erp, id, 1, 5);
    expect((await other.capture({ dryRun: true })).holds).to.deep.equal([]);
    expect((await works(other)).holds).to.deep.equal([]);
    expect(await sourceAlerts()).to.deep.equal([]);
    expect((await cursorOf()).high_changed_at).to.match(/^2026-02-20/);
  });

  const corrected = '2026-03-01 09:00:00.000000';
  for (const [what, first, second] of [
    ['came twice in the autumn night', '2026-10-25 02:50:00.000000', '2026-10-25 02:05:00.000000'],
    ['had a year that was mistyped', '2099-01-05 09:00:00.000000', corrected],
    // Only PostgreSQL knows it.
    ...(kit.erpType === 'postgres' ? [['was infinity', 'infinity', corrected] as const] : []),
  ] as const)
    it(`that ${what} is no sign of a restored ERP when it is corrected`, async () => {
      const lab = await kit.start({ customers: 2, orders: 4 });
      const { id } = await insertSampleOrder(lab.erp, { time: '2026-02-20 09:00:00.000000' });
      await lab.changeErp('UPDATE sales_orders SET updated_at=? WHERE id=?', [first, id]);
      await works(lab);
      await editSampleLine(lab.erp, id, 1, 5);
      await lab.changeErp('UPDATE sales_orders SET updated_at=? WHERE id=?', [second, id]);
      expect((await works(lab, { sweep: true })).holds).to.deep.equal([]);
      expect(await sourceAlerts()).to.deep.equal([]);
      const updates = await kit.rows("SELECT state FROM outbox_message WHERE operation='update'");
      expect(updates).to.deep.equal([{ state: 'delivered' }]);
    });

  it('that lies ahead of the clock in the store, or is no time there, keeps nothing back', async () => {
    const lab = await kit.start({ customers: 2, orders: 4 });
    await works(lab);
    for (const wrong of ['2099-01-05 09:00:00.000000', 'infinity']) {
      await setCursor('changed_at=?, high_changed_at=?', wrong, wrong);
      const { orderNo } = await insertSampleOrder(lab.erp);
      await works(lab);
      expect(atService(lab)).to.include(orderNo);
      const { changed_at, high_changed_at } = await cursorOf();
      for (const time of [changed_at, high_changed_at]) expect(time <= wallTimeNow(), time).to.equal(true);
    }
    expect(await sourceAlerts()).to.deep.equal([]);
  });
}

onSqliteLabAnd('mysql', 'changedAt', tests);
describe('changedAt in PostgreSQL', () => tests(useLab(useStore('sqlite'), 'postgres')));
