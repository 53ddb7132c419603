import { expect } from 'chai';
import type { Row } from '../../src/store/rows.js';
import { insertSampleOrder } from '../support/change-sample-erp.js';
import { type Lab, onBothLabs } from '../support/jobs/job-lab.js';
import { say } from '../support/jobs/say.js';

const lookUpOrder = {
  path: '/v1/orders',
  query: { note: '{note}' },
  list: 'data',
  id: 'order_id',
  match: { note: '{note}' },
};

onBothLabs('one record of the ERP is one record of the service', (kit) => {
  const orders = () =>
    kit.rows("SELECT source_key, state, park_class, reason FROM outbox_message WHERE entity='order' ORDER BY id");
  const bindings = () =>
    kit.rows("SELECT source_key, service_id FROM binding WHERE entity='order' ORDER BY source_key");
  const endOutage = () => kit.store.transaction('end the outage', (tx) => tx.run('DELETE FROM lane_pause'));
  /** The first order is delivered, and the second one comes after. */
  const firstOfTwo = async (settings = {}): Promise<Lab> => {
    const lab = await kit.start({ customers: 1, orders: 1, settings });
    await addSecond(lab);
    await lab.capture({ sweep: true });
    return lab;
  };
  const addSecond = async (lab: Lab) => {
    await lab.capture();
    await lab.deliver();
    await insertSampleOrder(lab.erp, {});
  };
  const loseSecond = async (lab: Lab, kind: 'reset-before' | 'reset-after-commit' = 'reset-before') => {
    lab.sandbox.setFaults([{ kind, match: { method: 'POST', path: '/v1/orders' } }]);
    await lab.deliver({ retryHorizonMs: 200 });
    lab.sandbox.clearFaults();
    await endOutage();
  };

  it('a look-up by a number that two orders share binds the second to nothing', async () => {
    const lab = await kit.start({
      customers: 1,
      orders: 1,
      settings: { orders: { number: 'remark' }, service: { endpoints: { lookUpOrder } } },
    });
    await lab.changeErp("UPDATE sales_orders SET remark='PO-77'");
    await addSecond(lab);
    await lab.changeErp("UPDATE sales_orders SET remark='PO-77'");
    await lab.capture({ sweep: true });
    await loseSecond(lab);
    await kit.store.transaction('let the key expire', (tx) =>
      tx.run("UPDATE outbox_message SET first_sent_at=1, next_attempt_at=1 WHERE state='in_doubt'"),
    );
    const before = await bindings();
    await lab.deliver();
    const [first, waits] = await orders();
    expect(waits).to.deep.include({ state: 'parked', park_class: 'conflict' });
    expect(waits?.reason).to.contain(`the order with the key ${first?.source_key} already`);
    expect(await bindings()).to.deep.equal(before);
    // The advice works.
    await say(kit, 'not_delivered', { keys: [waits?.source_key as string], entity: 'order' });
    await lab.deliver();
    expect((await bindings()).map((row: Row) => row.service_id)).to.have.length(2);
    expect(lab.sandbox.counts().orders).to.equal(2);
  });

  it('an acknowledgement that names the id of another order waits for a person, and the others go on', async () => {
    const lab = await kit.start({ customers: 1, orders: 3 });
    const same = { order_id: 'ord_same', status: 'received', total: 1, created_at: '2026-11-23T10:00:00Z' };
    await lab.capture();
    lab.sandbox.setFaults([
      {
        kind: 'status',
        status: 201,
        body: same,
        match: { method: 'POST', path: '/v1/orders' },
        times: 2,
      },
    ]);
    const { parked, delivered } = await lab.deliver();
    expect({ parked, orders: delivered.orders }).to.deep.equal({ parked: 1, orders: 2 });
    const waits = (await orders()).filter(({ state }) => state === 'parked');
    expect(waits).to.have.length(1);
    expect(waits[0]).to.include({ park_class: 'conflict' });
    expect(waits[0]?.reason).to.contain('ord_same').and.contain('outbox resolve');
    expect(await bindings()).to.have.length(2);
  });

  it('no person can say that a record is the one of another', async () => {
    const lab = await firstOfTwo();
    await loseSecond(lab);
    const [bound] = await bindings();
    const [, second] = await orders();
    const key = second?.source_key as string;
    await say(kit, 'delivered', { keys: [key], entity: 'order' }, bound?.service_id as string).catch(() => undefined);
    expect(await bindings()).to.deep.equal([bound]);
    await say(kit, 'delivered', { keys: [key], entity: 'order' }, 'ord_by_hand');
    expect(await bindings()).to.have.length(2);
  });

  it('what a person said is delivered is never created again', async () => {
    const lab = await kit.start({ customers: 1, orders: 1 });
    await lab.capture();
    await loseSecond(lab);
    await say(kit, 'delivered', { entity: 'order' }, 'ord_by_hand');
    const { skipped } = await lab.capture({ filter: { entity: 'order' }, force: true });
    expect(skipped.map(({ reason }) => reason).join()).to.contain('never acknowledged its key');
    await lab.deliver();
    expect(lab.sandbox.counts().orders).to.equal(0);
  });

  it('the schema has no room for two records with one id', async () => {
    const lab = await firstOfTwo();
    await lab.deliver();
    const refused = await kit.store
      .transaction('bind twice', (tx) => tx.run("UPDATE binding SET service_id='same' WHERE entity='order'"))
      .catch((error: Error) => error);
    expect(refused).to.be.instanceOf(Error);
  });
});
