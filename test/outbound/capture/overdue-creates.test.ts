import { expect } from 'chai';
import { confirmHeld, summariseHeld } from '../../../src/operator/actions/held-changes.js';
import { isOverdue } from '../../../src/outbound/capture/safety-limits.js';
import { liveIdentity, writeGoLive } from '../../../src/outbound/deliver/go-live.js';
import { insertSampleOrder } from '../../support/change-sample-erp.js';
import { type Lab, onAnyLab } from '../../support/jobs/job-lab.js';
import { told } from '../../support/told.js';

const from = (day: string, more: object = {}) => ({
  settings: { orders: { startFrom: { column: 'created_at', from: day } }, ...more },
});

onAnyLab('orders that earlier scans left out', (kit) => {
  /** So many orders of a year that the settings leave out. */
  const withOld = async (count: number, more: object = {}): Promise<Lab> => {
    const lab = await kit.start({ customers: 4, orders: 4, ...from('2026-01-01', more) });
    await lab.changeErp("UPDATE sales_orders SET status='draft' WHERE created_at<'2026-01-01'");
    for (let nth = 0; nth < count; nth++) {
      const { id } = await insertSampleOrder(lab.erp, { customerId: (nth % 4) + 1 });
      await lab.changeErp("UPDATE sales_orders SET created_at='2025-06-01', updated_at='2025-06-01' WHERE id=?", [id]);
    }
    await lab.capture({ sweep: true });
    await lab.deliver();
    expect(lab.sandbox.counts().orders).to.equal(4);
    return lab;
  };
  const states = () => kit.rows('SELECT state, park_class, COUNT(*) AS n FROM outbox_message GROUP BY 1, 2 ORDER BY 1');

  it('wait for a person when startFrom is set back, where they are more than capture.maxCreates', async () => {
    const lab = await withOld(3);
    const back = lab.another({ ...from('2025-01-01', { capture: { maxCreates: 2 } }) });
    const dry = await back.capture({ dryRun: true });
    expect(dry.holds.map(({ reason }) => reason.code)).to.deep.equal(['too_many_creates']);
    // New orders go on.
    await insertSampleOrder(lab.erp, {});
    const { holds, held } = await back.capture({ sweep: true });
    expect(held).to.equal(3);
    expect(told(holds.map(({ reason }) => reason)[0])).to.contain('capture.maxCreates (2)');
    await back.deliver();
    expect(lab.sandbox.counts().orders).to.equal(5);
    const { shown } = await summariseHeld(back.context, {});
    expect((await confirmHeld(back.context, {}, 'send', shown, 'they are wanted')).done).to.equal(3);
    await back.deliver();
    expect(lab.sandbox.counts().orders).to.equal(8);
  });

  it('go out once the scan has ended, where they are few', async () => {
    const lab = await withOld(2);
    const back = lab.another({ ...from('2025-01-01', { capture: { maxCreates: 2 } }) });
    expect((await back.capture({ sweep: true })).held).to.equal(0);
    await back.deliver();
    expect(lab.sandbox.counts().orders).to.equal(6);
    expect(await states()).to.have.length(1);
  });

  it('are none on the first scan, however many, nor where a person names them', async () => {
    const lab = await kit.start({ customers: 4, orders: 12, ...from('2026-01-01', { capture: { maxCreates: 0 } }) });
    expect((await lab.capture({ sweep: true })).held).to.equal(0);
    await lab.deliver();
    expect(lab.sandbox.counts().orders).to.equal(12);
    const { id } = await insertSampleOrder(lab.erp, {});
    await lab.changeErp("UPDATE sales_orders SET updated_at='2026-01-02' WHERE id=?", [id]);
    await lab.capture({ filter: { entity: 'order', keys: [String(id)] } });
    await lab.deliver();
    expect(lab.sandbox.counts().orders).to.equal(13);
  });

  it('are not sent to production before a person has agreed to the orders that are sent', async () => {
    const lab = (await kit.start(from('2026-01-01'))).another({ settings: { service: { environment: 'production' } } });
    const goLive = (at: Lab) =>
      kit.store.transaction('go live', (tx) =>
        writeGoLive(tx, liveIdentity(at.settings, at.reader.identity()), 'an operator', Date.now()),
      );
    await goLive(lab);
    expect((await lab.deliver()).stopped).to.equal(null);
    const back = lab.another(from('2025-01-01'));
    const stopped = told((await back.deliver()).stopped);
    expect(stopped).to.contain('which orders are sent was').and.contain('2026-01-01').and.contain('2025-01-01');
    await goLive(back);
    expect((await back.deliver()).stopped).to.equal(null);
    // An earlier version agreed to nothing of the kind.
    const { orders: _, ...before } = liveIdentity(lab.settings, lab.reader.identity());
    await kit.store.transaction('as before', (tx) => writeGoLive(tx, before as never, 'an operator', Date.now()));
    expect((await back.deliver()).stopped).to.equal(null);
  });
});

describe('whether a row is one that earlier scans left out', () => {
  const before = { highChangedAt: '2026-06-02 12:00:00', highKey: '100' };
  const row = (changedAt: string | null, sourceKey: string) => isOverdue({ changedAt, sourceKey }, before, 600);

  it('is told by its changed-at, less the overlap for late commits', () => {
    expect(row('2026-06-02 11:49:59', '200')).to.equal(true);
    expect(row('2026-06-02 11:50:00', '7')).to.equal(false);
    expect(row('2026-06-03 00:00:00', '7')).to.equal(false);
  });

  it('is told by its key where it has no time, and by nothing before the first scan has ended', () => {
    expect(row(null, '100')).to.equal(true);
    expect(row(null, '101')).to.equal(false);
    expect(row(null, 'A-7')).to.equal(false);
    expect(isOverdue({ changedAt: '2020-01-01 00:00:00', sourceKey: '1' }, null, 600)).to.equal(false);
  });
});
