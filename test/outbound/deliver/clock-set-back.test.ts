import { expect } from 'chai';
import { type Lab, onBothLabs } from '../../support/jobs/job-lab.js';
import { expectAllAtService } from '../../support/jobs/service-of.js';
import { sandboxLookUps } from '../../support/sandbox-look-ups.js';

const hourMs = 3_600_000;

onBothLabs('a clock that ran ahead and is set right', (kit) => {
  /** What is done while the clock shows a time of three days from now. */
  const threeDaysAhead = async (lab: Lab, work: () => Promise<unknown>) => {
    lab.context.nowMs = () => Date.now() + 72 * hourMs;
    await work();
    lab.context.nowMs = Date.now;
  };
  const lostAnswer = { kind: 'reset-after-commit', match: { method: 'POST', path: '/v1/orders' } } as const;
  const orders = (columns: string) => kit.rows(`SELECT ${columns} FROM outbox_message WHERE entity='order'`);

  it('is no proof that the service remembers a key: what is in doubt waits for a person', async () => {
    const lab = await kit.start({ customers: 1, orders: 1 });
    lab.sandbox.setFaults([lostAnswer]);
    await threeDaysAhead(lab, async () => {
      await lab.capture({ sweep: true });
      await lab.deliver({ retryHorizonMs: 0 });
    });
    expect(await orders('state')).to.deep.equal([{ state: 'in_doubt' }]);
    lab.sandbox.clearFaults();
    lab.sandbox.forgetKeys();

    expect((await lab.deliver()).parked).to.equal(1);
    expect(await orders('state, park_class')).to.deep.equal([{ state: 'parked', park_class: 'unproven' }]);
    // Not when the time has come that it was sent at, either.
    await threeDaysAhead(lab, () => lab.deliver());
    expect(lab.sandbox.counts()).to.include({ orders: 1, duplicateReferences: 0 });
    expect(lab.log.join('\n')).to.contain('The clock was set back');
  });

  it('is looked up instead, where the service can be asked', async () => {
    const lab = await kit.start({
      customers: 1,
      orders: 1,
      settings: { service: { endpoints: sandboxLookUps } },
    });
    lab.sandbox.setFaults([lostAnswer]);
    await threeDaysAhead(lab, async () => {
      await lab.capture({ sweep: true });
      await lab.deliver({ retryHorizonMs: 0 });
    });
    lab.sandbox.clearFaults();
    lab.sandbox.forgetKeys();
    await lab.deliver();
    expect(await orders('state')).to.deep.equal([{ state: 'delivered' }]);
    expect(lab.sandbox.counts()).to.include({ orders: 1, duplicateReferences: 0 });
  });

  it('is not waited for: what was captured goes out, and the next pass sweeps', async () => {
    const lab = await kit.start({ customers: 2, orders: 3 });
    await threeDaysAhead(lab, () => lab.capture({ sweep: true }));
    await lab.deliver();
    await expectAllAtService(lab);

    await lab.capture();
    const swept = await kit.rows('SELECT swept_at FROM capture_cursor');
    expect(swept).to.have.length(2);
    for (const { swept_at } of swept) expect(Number(swept_at)).to.be.within(1, Date.now());
  });
});
