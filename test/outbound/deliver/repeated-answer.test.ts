import { expect } from 'chai';
import { onAnyLab } from '../../support/jobs/job-lab.js';
import { pausesOf, statesOf } from '../../support/jobs/service-of.js';

onAnyLab('a service that answers a repetition with another success', (kit) => {
  const match = { method: 'POST', path: '/v1/orders' };

  it('has acknowledged the order that it shows', async () => {
    const lab = await kit.start({ customers: 1, orders: 1 });
    await lab.capture();
    const body = { order_id: 'O-77', status: 'accepted' };
    lab.sandbox.setFaults([
      { kind: 'status', status: 500, match: { ...match, nth: 1 } },
      { kind: 'status', status: 200, body, match: { ...match, nth: 2 } },
    ]);
    await lab.deliver();
    expect(await statesOf(kit)).to.deep.equal({ delivered: 2 });
    expect(await kit.rows("SELECT service_id FROM binding WHERE entity='order'")).to.deep.equal([
      { service_id: 'O-77' },
    ]);
  });

  it('needs a setting to say so with the first request', async () => {
    const body = { order_id: 'O-77', status: 'accepted' };
    const lab = await kit.start({ customers: 1, orders: 1 });
    await lab.capture();
    lab.sandbox.setFaults([{ kind: 'status', status: 200, body, match: { ...match, nth: 1 } }]);
    const listed = lab.another({
      settings: { service: { endpoints: { createOrder: { successStatus: [201, 200] } } } },
    });
    await listed.deliver();
    expect(await statesOf(kit)).to.deep.equal({ delivered: 2 });
    expect(lab.sandbox.counts().requests).to.equal(2);
    expect(await pausesOf(kit)).to.deep.equal([]);
  });
});
