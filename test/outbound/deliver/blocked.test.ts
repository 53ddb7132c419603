import { expect } from 'chai';
import { readStatus } from '../../../src/daemon/read-status.js';
import { onAnyLab } from '../../support/jobs/job-lab.js';
import { statesOf } from '../../support/jobs/service-of.js';
import { told } from '../../support/told.js';

onAnyLab('a service that blocks us for a period', (kit) => {
  const settings = {
    service: { concurrency: 1, answers: { blocked: [{ status: 400, pattern: 'banned' }] }, blockedSeconds: 1_200 },
  };
  const blocks = [
    { how: 'with a 403 that names a time', fault: { status: 403, headers: { 'Retry-After': '7200' } }, seconds: 7_200 },
    {
      how: 'with a 429 that names a long time',
      fault: { status: 429, headers: { 'Retry-After': '3600' } },
      seconds: 3_600,
    },
    { how: 'in words of its own', fault: { status: 400, body: { message: 'You are banned.' } }, seconds: 1_200 },
  ];
  for (const { how, fault, seconds } of blocks)
    it(`${how}: everything rests until it is over, also after a restart, at no message's expense, and status says so`, async () => {
      const lab = await kit.start({ customers: 1, orders: 4, settings });
      await lab.capture();
      lab.sandbox.setFaults([{ kind: 'status', ...fault }]);
      const began = Date.now();
      const { stopped } = await lab.deliver();
      expect(told(stopped)).to.match(/^service is paused \(throttled\): HTTP (403|429|400)/);
      const { requests } = lab.sandbox.counts();
      expect(requests).to.equal(1);
      const [pause] = await kit.rows('SELECT lane, cause, until_at FROM lane_pause');
      expect(pause).to.include({ lane: 'service', cause: 'throttled' });
      expect(Number(pause.until_at) - began).to.be.within(seconds * 1000, seconds * 1000 + 20_000);

      lab.sandbox.clearFaults();
      const restarted = lab.another({ actor: 'restarted' });
      expect(told((await restarted.deliver()).stopped)).to.contain('service is paused (throttled)');
      expect(await restarted.pull()).to.include({ outcome: 'held' });
      expect(lab.sandbox.counts().requests).to.equal(requests);
      expect(await statesOf(kit)).to.deep.equal({ pending: 5 });
      expect(await kit.rows('SELECT id FROM outbox_message WHERE failures>0')).to.deep.equal([]);
      const status = await kit.store.read('read the status', (tx) =>
        readStatus(tx, lab.settings, lab.reader.identity(), Date.now()),
      );
      expect(status.pauses.map(({ lane, cause }) => [lane, cause])).to.deep.equal([['service', 'throttled']]);

      restarted.context.nowMs = () => Date.now() + seconds * 1000 + 20_000;
      const after = await restarted.deliver();
      expect(after.delivered).to.deep.equal({ customers: 1, orders: 4 });
    });

  it('lets pass a second after a 429 that names no time, where there is no limit of the settings', async () => {
    const lab = await kit.start({ customers: 1, orders: 1, settings: { service: { limits: [] } } });
    await lab.capture();
    lab.sandbox.setFaults([{ kind: 'status', status: 429 }]);
    await lab.deliver({ retryHorizonMs: 10 });
    const [{ ms }] = await kit.rows("SELECT until_at-since_at AS ms FROM lane_pause WHERE cause='throttled'");
    expect(Number(ms)).to.be.within(1_000, 4_000);
  });

  it('also stops delivery when it is a pull that meets the block', async () => {
    const lab = await kit.start({ customers: 1, orders: 1, settings });
    await lab.capture();
    lab.sandbox.setFaults([{ kind: 'status', status: 403, headers: { 'Retry-After': '7200' } }]);
    expect((await lab.pull()).outcome).to.equal('failed');
    lab.sandbox.clearFaults();
    expect(told((await lab.deliver()).stopped)).to.contain('service is paused (throttled)');
    expect(lab.sandbox.counts().requests).to.equal(1);
  });
});
