import { expect } from 'chai';
import { legacy } from '../../src/model/facts/fact.js';
import { sync } from '../../src/operator/sync.js';
import { ServiceLease } from '../../src/outbound/deliver/service-lease.js';
import { pauseLane } from '../../src/store/lane-pauses.js';
import { Lease } from '../../src/store/lease.js';
import { onAnyLab } from '../support/jobs/job-lab.js';

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
    expect(result.capture?.stopped?.reason).to.contain('paused');
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
