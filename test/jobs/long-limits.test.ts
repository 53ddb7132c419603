import { expect } from 'chai';
import { sync } from '../../src/jobs/sync.js';
import { resumeLane } from '../../src/store/lane-pauses.js';
import { type Lab, onBothLabs } from './job-lab.js';
import { statesOf } from './service-of.js';

onBothLabs('a limit with a long window', (kit) => {
  const pass = (lab: Lab) =>
    sync(lab.context, { reader: lab.reader, client: () => lab.client }, { stages: ['capture', 'deliver'] });
  const settings = {
    service: {
      limits: [
        { requests: 1_000, perSeconds: 1 },
        { requests: 7, perSeconds: 86_400 },
      ],
    },
  };

  it('counts across processes, pauses the lane until it allows more, and costs no message an attempt', async () => {
    const lab = await kit.start({ customers: 2, orders: 20, settings });
    const first = await pass(lab);
    expect(lab.sandbox.counts().requests).to.equal(7);
    expect(first.deliver?.stopped).to.equal('service is paused (limit): 7 requests in 86400 s are used up');
    const [pause] = await kit.rows('SELECT lane, cause, until_at, since_at FROM lane_pause');
    expect(pause).to.include({ lane: 'service', cause: 'limit' });
    expect(Number(pause.until_at) - Number(pause.since_at)).to.be.within(86_000_000, 86_411_000);
    const states = await statesOf(kit);
    expect(states).to.have.all.keys('delivered', 'pending');
    expect(states.delivered).to.equal(7);

    // Another process, which knows nothing but what is on record; and an operator who is impatient.
    const another = lab.another({ actor: 'another' });
    await kit.store.transaction('resume', (tx) => resumeLane(tx, 'service'));
    const second = await pass(another);
    expect(second.deliver?.stopped).to.contain('service is paused (limit)');
    expect(lab.sandbox.counts().requests).to.equal(7);
    expect(await kit.rows("SELECT id FROM outbox_message WHERE state='pending' AND failures>0")).to.deep.equal([]);
  });
});
