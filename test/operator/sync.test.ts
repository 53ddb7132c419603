import { expect } from 'chai';
import { legacy } from '../../src/model/facts/fact.js';
import { sync } from '../../src/operator/sync.js';
import { ServiceLease } from '../../src/outbound/deliver/service-lease.js';
import { pauseLane } from '../../src/store/lane-pauses.js';
import { Lease } from '../../src/store/lease.js';
import type { Store, Tx } from '../../src/store/store.js';
import { forged } from '../support/forged.js';
import { onAnyLab } from '../support/jobs/job-lab.js';
import { withMethod } from '../support/jobs/with-method.js';
import { sandboxLookUps } from '../support/sandbox-look-ups.js';
import { told } from '../support/told.js';

onAnyLab('one pass by hand', (kit) => {
  it('takes over from a deliverer that was killed, as soon as its lease ends', async () => {
    const lab = await kit.start({ orders: 5 });
    const dead = await Lease.acquire(kit.store, 'service', 'sync@gone:1', 1_500);
    expect(dead.held).to.equal(true);
    const result = await sync(
      lab.context,
      { reader: lab.reader, client: () => lab.client },
      { stages: ['capture', 'deliver', 'pull'] },
    );
    expect(result.deliver?.watched).to.equal(null);
    expect(result.deliver?.delivered.orders).to.equal(5);
    expect(result.pull?.outcome).to.equal('proven');
    expect(result.open).to.equal(0);
  });

  it('watches another deliverer until it has looked up its conflicts, which may be sent again', async () => {
    const lab = await kit.start({ orders: 5, settings: { service: { endpoints: sandboxLookUps } } });
    const write = (sql: string) => kit.store.transaction('prepare', (tx) => tx.run(sql));
    await lab.capture();
    await lab.deliver();
    const [{ source_key: key }] = await kit.rows("SELECT source_key FROM outbox_message WHERE entity='order'");
    // Its answer came a moment ago.
    await write(
      `UPDATE outbox_message SET state='parked', park_class='conflict', next_attempt_at=1, started_at=NULL, delivered_at=NULL
        WHERE entity='order' AND source_key='${key}'`,
    );
    await write(`DELETE FROM binding WHERE entity='order' AND source_key='${key}'`);
    const deliverer = await Lease.acquire(kit.store, 'service', 'daemon@other:1', 60_000);
    expect(deliverer.held).to.equal(true);
    const looks = { count: 0 };
    const store = withMethod(kit.store, 'read', (async (action: string, work: (tx: Tx) => Promise<unknown>) => {
      // The look-up finds nothing, the order goes out again, and this is its answer.
      if (action === 'look for the next look-up' && looks.count++ === 1)
        await write(`UPDATE outbox_message SET ${forged.delivered} WHERE entity='order' AND source_key='${key}'`);
      return kit.store.read(action, work);
    }) as Store['read']);
    const result = await sync(
      { ...lab.context, store },
      { reader: lab.reader, client: () => lab.client },
      { stages: ['deliver'] },
    );
    expect(looks.count).to.be.above(1);
    expect([result.open, result.deliver?.stopped]).to.deep.equal([0, null]);
  });

  it('delivers what waits when only capture is paused', async () => {
    const lab = await kit.start({ orders: 5 });
    await lab.capture();
    await kit.store.transaction('pause', (tx) =>
      pauseLane(tx, {
        lane: 'capture',
        cause: 'operator',
        until_at: null,
        reason: legacy('test'),
        actor: 'test',
        since_at: 1,
      }),
    );
    const result = await sync(
      lab.context,
      { reader: lab.reader, client: () => lab.client },
      { stages: ['capture', 'deliver'] },
    );
    expect(told(result.capture?.stopped?.reason)).to.contain('paused');
    expect(result.deliver?.delivered.orders).to.equal(5);
  });

  it('delivers what a range of dates captured without naming each record', async () => {
    const lab = await kit.start({ orders: 12 });
    const result = await sync(
      lab.context,
      { reader: lab.reader, client: () => lab.client },
      { stages: ['capture', 'deliver'], filter: { entity: 'order', from: '2026-01-01', to: '2027-01-01' } },
    );
    expect(result.deliver?.delivered.orders).to.equal(12);
    const answer = await ServiceLease.acquire(lab.context);
    expect(answer).to.be.instanceOf(ServiceLease);
    await (answer as ServiceLease).release();
  });
});
