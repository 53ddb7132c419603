import { expect } from 'chai';
import { runSchedule } from '../../src/daemon/schedule.js';
import { lookAfterAlerts } from '../../src/daemon/tell-alerts.js';
import { recordFigures } from '../../src/operator/figures/record-figures.js';
import { deliver } from '../../src/outbound/deliver/deliver.js';
import { ServiceLease } from '../../src/outbound/deliver/service-lease.js';
import { renewWitness } from '../../src/outbound/recovery/store-witness.js';
import { useStore } from '../store/stores.js';
import { countStatements } from '../support/count-statements.js';
import { onAnyLab, useLab } from '../support/jobs/job-lab.js';
import { useTempDir } from '../support/temp-dir.js';
import { VirtualClock } from '../support/virtual-clock.js';
import { waitFor } from '../support/wait-for.js';

describe('a minute of a daemon with nothing to do', () => {
  const kit = useLab(useStore('sqlite'));
  const folder = useTempDir();
  let stopCounting = () => {};
  afterEach(() => stopCounting());

  it('takes less than three statements a second on ERP and store, by the schedule of the defaults', async () => {
    const lab = await kit.start();
    await lab.capture();
    await lab.deliver();
    await lab.capture();
    const clock = new VirtualClock(Date.now());
    Object.assign(lab.context, { clock, nowMs: clock.nowMs });
    const acquiring = ServiceLease.acquire(lab.context);
    await clock.runUntil(clock.nowMs() + 10_000);
    const lease = (await acquiring) as ServiceLease;
    const ending = new AbortController();
    const counted = countStatements();
    stopCounting = counted.stop;
    const countOf = async (job: () => Promise<unknown>) => {
      const before = counted.statements;
      await job();
      return counted.statements - before;
    };
    const jobs = {
      capture: () => lab.capture(),
      alerts: () => lookAfterAlerts(lab.context, lease.lease, null, ending.signal),
      figures: () => recordFigures(lab.context),
      witness: () => renewWitness(kit.store, [folder.file('witness.json')], Date.now()),
      // Its looks, a whole turn, and the renewals of its lease.
      deliver: () => clock.runUntil(clock.nowMs() + 60_000),
    };
    const delivery = deliver(lab.context, lab.client, lease, {
      untilDrained: false,
      scope: { only: null },
      retryHorizonMs: 0,
      trial: false,
      erp: lab.reader,
      signal: ending.signal,
    });
    const costs = { capture: 0, alerts: 0, figures: 0, witness: 0, deliver: 0 };
    // The first of each notes what is new.
    for (const _ of ['first', 'next'])
      for (const name of Object.keys(costs) as (keyof typeof costs)[]) costs[name] = await countOf(jobs[name]);
    ending.abort();
    await delivery;
    await lease.release();
    const { capture, alerts, figures, witness, deliver: delivering } = costs;
    const minute = 2 * capture + 6 * alerts + figures + 20 * witness + delivering;
    expect(minute, JSON.stringify(costs)).to.be.below(180);
  });
});

onAnyLab('a daemon at rest', (kit) => {
  it('sends what another process makes due within about two seconds', async () => {
    const lab = await kit.start({ settings: { schedule: { capture: '0 0 3 1 1 *', pull: '0 0 3 1 1 *' } } });
    const stop = new AbortController();
    const ended = runSchedule(lab.context, { reader: lab.reader, client: lab.client }, stop.signal);
    try {
      const openOnes = () => kit.rows("SELECT id FROM outbox_message WHERE state<>'delivered'");
      await waitFor(
        'the first orders',
        async () => lab.sandbox.counts().orders === 12 && (await openOnes()).length === 0,
      );
      const other = await kit.connect();
      const later = Date.now() + 3_600_000;
      await other.transaction('put off', (tx) =>
        tx.run(
          "UPDATE outbox_message SET state='pending', next_attempt_at=?, closed_at=NULL, delivered_at=NULL WHERE entity='order'",
          [later],
        ),
      );
      const requests = () => lab.sandbox.ledger().requests.length;
      const before = requests();
      await new Promise((resolve) => setTimeout(resolve, 2_500));
      expect(requests()).to.equal(before);
      const dueAt = Date.now();
      await other.transaction('retry', (tx) =>
        tx.run("UPDATE outbox_message SET next_attempt_at=? WHERE entity='order'", [dueAt]),
      );
      await waitFor('the next request', () => requests() > before);
    } finally {
      stop.abort();
      await ended;
    }
  });
});
