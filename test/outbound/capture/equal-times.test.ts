import { expect } from 'chai';
import { insertSampleOrder } from '../../support/change-sample-erp.js';
import { onSqliteLabAnd } from '../../support/jobs/job-lab.js';

onSqliteLabAnd('mysql', 'orders that changed at the same moment', (kit) => {
  it('are all found by the cursor and by the sweep, a page at a time, also those that were committed late', async () => {
    const lab = await kit.start({
      customers: 1,
      orders: 2,
      settings: { capture: { pageSize: 3, overlapSeconds: 3_600 } },
    });
    await lab.capture();
    const time = '2026-03-01 12:00:00.000000';
    const before = await lab.capture();
    expect(before.captured.orders).to.equal(0);
    for (let i = 0; i < 10; i++) await insertSampleOrder(lab.erp, { time });
    const pages: number[] = [];
    const { reader } = lab;
    const { readChanged, sweep } = reader;
    reader.readChanged = async (...asked) => {
      const page = await readChanged.apply(reader, asked);
      if (asked[0] === 'order') pages.push(page.rows.length);
      return page as never;
    };
    reader.sweep = async (...asked) => {
      const page = await sweep.apply(reader, asked);
      if (asked[0] === 'order') pages.push(page.rows.length);
      return page as never;
    };
    const swept = await lab.capture({ sweep: true });
    expect(swept.captured.orders).to.equal(10);
    expect(Math.max(...pages)).to.be.at.most(3);

    // The cursor stands at this moment; what comes in beside it, and just before, is found by the overlap.
    await kit.store.transaction('stand there', (tx) =>
      tx.run("UPDATE capture_cursor SET changed_at=? WHERE name='order'", [time]),
    );
    for (let i = 0; i < 7; i++) await insertSampleOrder(lab.erp, { time });
    await insertSampleOrder(lab.erp, { time: '2026-03-01 11:30:00.000000' });
    pages.splice(0);
    expect((await lab.capture()).captured.orders).to.equal(8);
    expect(Math.max(...pages)).to.be.at.most(3);
  });
});
