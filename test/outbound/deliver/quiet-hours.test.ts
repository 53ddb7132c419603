import { expect } from 'chai';
import { checkStatus } from '../../../src/daemon/check-status.js';
import { readStatus } from '../../../src/daemon/read-status.js';
import { sync } from '../../../src/operator/sync.js';
import { type Lab, onAnyLab, withServiceLease } from '../../support/jobs/job-lab.js';
import { statesOf } from '../../support/jobs/service-of.js';
import { told } from '../../support/told.js';

/** Quiet from so many minutes before now until so many after, by the clock of UTC. */
function quietAround(beforeMinutes: number, afterMinutes: number, lanes: string[] = ['deliver', 'pull']) {
  const clock = (minutes: number) => new Date(Date.now() + minutes * 60_000).toISOString().slice(11, 16);
  return { schedule: { quietHours: [{ lanes, from: clock(-beforeMinutes), to: clock(afterMinutes) }] } };
}

onAnyLab('quiet hours', (kit) => {
  const pass = (lab: Lab) =>
    sync(lab.context, { reader: lab.reader, client: () => lab.client }, { stages: ['capture', 'deliver', 'pull'] });

  it('hold what a person sends by hand, say until when, and let capture go on', async () => {
    const settings = quietAround(60, 120);
    const lab = await kit.start({ customers: 2, orders: 5, settings });
    const until = settings.schedule.quietHours[0]?.to;
    const result = await pass(lab);
    expect(result.capture?.captured.orders).to.equal(5);
    expect(told(result.deliver?.stopped)).to.match(
      new RegExp(`^deliver is paused \\(quiet\\): quiet until [0-9-]+ ${until} UTC \\(schedule.quietHours\\)$`),
    );
    expect(result.pull).to.include({ outcome: 'held' });
    expect(result.open).to.equal(7);
    expect(lab.sandbox.counts().requests).to.equal(0);

    const status = await kit.store.read('read the status', (tx) =>
      readStatus(tx, lab.settings, lab.reader.identity(), Date.now()),
    );
    expect(status.pauses.map(({ lane, cause }) => `${lane} ${cause}`)).to.deep.equal(['deliver quiet', 'pull quiet']);
    const { text } = checkStatus({ ...status, lease: { ...status.lease, holder: 'daemon' } });
    expect(text).to.match(
      new RegExp(`^quiet until [0-9-]+ ${until} UTC \\(schedule.quietHours\\); 7 open, nothing parked$`),
    );
  });

  it('are told at once also beside a daemon, instead of watching it do nothing', async () => {
    const lab = await kit.start({ customers: 1, orders: 2, settings: quietAround(60, 120) });
    await withServiceLease(lab.another({ actor: 'daemon' }).context, async () => {
      const began = performance.now();
      const result = await pass(lab);
      expect(performance.now() - began).to.be.below(10_000);
      expect(told(result.deliver?.stopped)).to.match(
        /^daemon delivers, and deliver is quiet until .*, and .*pull is quiet/s,
      );
      expect(result.open).to.equal(3);
    });
  });

  it('of one lane leave the other alone', async () => {
    const lab = await kit.start({ customers: 1, orders: 2, settings: quietAround(60, 120, ['pull']) });
    const result = await pass(lab);
    expect(result.deliver?.delivered).to.deep.equal({ customers: 1, orders: 2 });
    expect(result.pull).to.include({ outcome: 'held' });
  });

  it('let what is under way end, and nothing begin after them, also no resend and no probe', async () => {
    const lab = await kit.start({
      customers: 1,
      orders: 30,
      settings: { service: { concurrency: 2 }, ...quietAround(-60, 120) },
      sandbox: { delayMs: 20 },
    });
    await lab.capture();
    // The hour comes while two are under way: from the tenth answer on, the clock shows an hour later.
    let hasCome = false;
    const clock = lab.context.nowMs;
    lab.context.nowMs = () => clock() + (hasCome ? 61 * 60_000 : 0);
    const result = await lab.deliver({
      onProgress: ({ delivered }) => {
        hasCome ||= delivered.orders >= 10;
      },
    });
    expect(told(result.stopped)).to.contain('deliver is paused (quiet)');
    const { requests } = lab.sandbox.counts();
    expect(requests).to.equal(result.delivered.customers + result.delivered.orders);
    expect(requests).to.be.below(31);
    expect(await statesOf(kit)).to.deep.equal({ delivered: requests, pending: 31 - requests });

    lab.sandbox.setFaults([{ kind: 'status', status: 503 }]);
    const again = await lab.deliver();
    expect(told(again.stopped)).to.contain('deliver is paused (quiet)');
    expect(lab.sandbox.counts().requests).to.equal(requests);
  });
});
