import { expect } from 'chai';
import { deliver } from '../../../src/outbound/deliver/deliver.js';
import { editSampleLine, insertSampleOrder } from '../../support/change-sample-erp.js';
import { onAnyLab, withServiceLease } from '../../support/jobs/job-lab.js';
import { waitFor } from '../../support/wait-for.js';

/** 2,000 in the long form: WAYBILL_LONG=1. */
const orders = process.env.WAYBILL_LONG ? 2_000 : 200;

onAnyLab('the backlog of a resync', (kit) => {
  it('lets a new order pass within the next few requests, and is sent to its end', async () => {
    const perSecond = orders / 4;
    const lab = await kit.start({ customers: 5, orders });
    await lab.capture();
    await lab.deliver();
    expect(lab.sandbox.counts().orders).to.equal(orders);
    await lab.capture({ force: true, filter: { entity: 'order' } });
    const waiting = "SELECT COUNT(*) AS n FROM outbox_message WHERE state='pending' AND is_backlog=1";
    expect(Number((await kit.rows(waiting))[0]?.n)).to.equal(orders);

    const slow = lab.another({ settings: { service: { limits: [{ requests: perSecond, perSeconds: 1 }] } } });
    const before = lab.sandbox.counts().requests;
    const stop = new AbortController();
    const asked = () => lab.sandbox.counts().requests - before;
    await withServiceLease(slow.context, async (lease) => {
      const delivery = deliver(slow.context, slow.client, lease, {
        untilDrained: false,
        scope: { only: null },
        retryHorizonMs: 0,
        trial: false,
        erp: slow.reader,
        signal: stop.signal,
      });
      await waitFor('the first of the backlog', () => asked() > perSecond / 2);
      const { orderNo } = await insertSampleOrder(lab.erp);
      await slow.capture();
      const since = asked();
      expect(since).to.be.below(orders);
      await waitFor('the new order', () => lab.sandbox.counts().orders > orders);
      // A tenth of a second until it is seen, and those that have a connection already.
      const passed = asked() - since;
      expect(passed, `requests before ${orderNo}`).to.be.at.most(perSecond * 0.5 + 8);
      await waitFor('the rest of the backlog', () => asked() >= orders + 1, 30_000);
      stop.abort();
      await delivery;
    });
    expect(
      await kit.rows("SELECT id FROM outbox_message WHERE state IN ('pending','sending','in_doubt')"),
    ).to.deep.equal([]);
    expect(lab.sandbox.counts()).to.include({ orders: orders + 1, duplicateReferences: 0, throttled: 0 });
  });

  it('is what a resync of a range makes again, and not what is new, or asked for by name', async () => {
    const lab = await kit.start({ customers: 2, orders: 4 });
    await lab.capture({ filter: { entity: 'order' } });
    const marks = async () =>
      (await kit.rows('SELECT is_backlog FROM outbox_message ORDER BY id')).map((row) => Number(row.is_backlog));
    expect(await marks()).to.deep.equal([0, 0, 0, 0, 0, 0]);
    await lab.deliver();
    const [one] = await kit.rows("SELECT source_key FROM outbox_message WHERE entity='order' ORDER BY id LIMIT 1");
    await lab.capture({ force: true, filter: { entity: 'order', keys: [one.source_key] } });
    expect((await marks()).slice(6)).to.deep.equal([0]);
    await lab.deliver();
    await lab.capture({ force: true, filter: { entity: 'order' } });
    expect((await marks()).slice(7)).to.deep.equal([1, 1, 1, 1]);
  });

  it('holds up no news of its own records: what news waits for is no backlog any more', async () => {
    const lab = await kit.start({ customers: 2, orders: 4 });
    await lab.capture();
    await lab.deliver();
    await lab.capture({ force: true, filter: { entity: 'order' } });
    const [{ source_key: key }] = await kit.rows("SELECT source_key FROM outbox_message WHERE entity='order' LIMIT 1");
    await editSampleLine(lab.erp, Number(key), 1, 77);
    await lab.capture({ sweep: true });
    const open = await kit.rows(
      `SELECT operation, is_backlog FROM outbox_message WHERE state='pending' AND source_key='${key}' AND entity='order' ORDER BY id`,
    );
    expect(open.map((row) => [row.operation, Number(row.is_backlog)])).to.deep.equal([
      ['create', 0],
      ['update', 0],
    ]);
    await lab.deliver();
    expect(await kit.rows("SELECT id FROM outbox_message WHERE state='pending'")).to.deep.equal([]);
  });
});
