import { expect } from 'chai';
import { runSchedule } from '../../src/daemon/schedule.js';
import { type AlertNotice, lookAfterAlerts, retryDelayMs, type TellAlert } from '../../src/daemon/tell-alerts.js';
import { legacy } from '../../src/model/facts/fact.js';
import { ServiceLease } from '../../src/outbound/deliver/service-lease.js';
import { endAlert, raiseAlert } from '../../src/store/alerts.js';
import { type LanePause, pauseLane, resumeLane } from '../../src/store/lane-pauses.js';
import type { Tx } from '../../src/store/store.js';
import { forged } from '../support/forged.js';
import { type Lab, onAnyLab } from '../support/jobs/job-lab.js';
import { waitFor } from '../support/wait-for.js';

onAnyLab('alerts', (kit) => {
  const write = (work: (tx: Tx) => Promise<unknown>) => kit.store.transaction('test', work);
  const leases: ServiceLease[] = [];
  afterEach(async () => {
    for (const lease of leases.splice(0)) await lease.release();
  });
  /** A lab whose clock is `time.nowMs`, and a look that begins like a new process. */
  const begin = async () => {
    const lab = await kit.start({ customers: 1, orders: 1 });
    const time = { nowMs: Date.now() };
    lab.context.nowMs = () => time.nowMs;
    const told: AlertNotice[] = [];
    const tell: TellAlert = async (notice) => void told.push(notice);
    const lease = await leaseOf(lab);
    const look = (by: TellAlert | null = tell) =>
      lookAfterAlerts(lab.context, lease.lease, by, new AbortController().signal);
    const states = () => told.map(({ cause, state }) => `${cause} ${state}`);
    return { lab, time, told, look, states };
  };
  const leaseOf = async (lab: Lab) => {
    const lease = await ServiceLease.acquire(lab.context);
    if (!(lease instanceof ServiceLease)) throw new Error('somebody has the lease');
    leases.push(lease);
    return lease;
  };
  const held = { code: 'changes_held', entity: 'order', source: null, held: 11, reason: legacy('many') } as const;
  const paused: LanePause = {
    lane: 'service',
    cause: 'credential',
    until_at: null,
    reason: legacy('HTTP 401'),
    actor: 'daemon',
    since_at: 1,
  };

  it('are told once per cause, and once when it is over, however often it is looked', async () => {
    const { look, states, told, time, lab } = await begin();
    await look();
    expect(states()).to.deep.equal([]);
    await write((tx) => pauseLane(tx, paused));
    for (let i = 0; i < 3; i++) await look();
    expect(states()).to.deep.equal(['pause.service.credential raised']);
    const since = new Date(time.nowMs).toISOString();
    expect(told[0]).to.deep.equal({
      cause: 'pause.service.credential',
      message:
        'Everything that talks to the service is paused (credential): HTTP 401. Replace the credential: a new file is tried without a restart. If the cause was at the service, end the pause: `waybill resume service`.',
      state: 'raised',
      at: since,
      installation: lab.settings.installation,
      environment: 'sandbox',
      since,
      code: 'pause_in_force',
      details: {
        lane: 'service',
        pause: 'credential',
        until: null,
        reason: 'HTTP 401',
        reasonCode: 'legacy',
        reasonData: { text: 'HTTP 401' },
      },
    });
    time.nowMs += 60_000;
    await write((tx) => resumeLane(tx, 'service'));
    for (let i = 0; i < 3; i++) await look();
    expect(states()).to.deep.equal(['pause.service.credential raised', 'pause.service.credential over']);
    expect(told[1]).to.include({ since, at: new Date(time.nowMs).toISOString() });
    expect(
      (await kit.rows("SELECT outcome FROM audit_log WHERE event='alert' ORDER BY id")).map(({ outcome }) => outcome),
    ).to.deep.equal(['raised', 'over']);
  });

  it('are not told again after a restart', async () => {
    const { lab, look, states } = await begin();
    await write((tx) => pauseLane(tx, paused));
    await look();
    await leases.splice(0)[0]?.release();
    const next = lab.another({ actor: 'after a restart' });
    const again = await leaseOf(next);
    const told: AlertNotice[] = [];
    await lookAfterAlerts(next.context, again.lease, async (n) => void told.push(n), new AbortController().signal);
    expect(states()).to.have.length(1);
    expect(told).to.deep.equal([]);
  });

  it('are told later when telling fails, each time after a longer wait, and in their order', async () => {
    const { look, states, time, lab } = await begin();
    const fails: TellAlert = async () => {
      throw new Error('no route to the pager');
    };
    await write((tx) => raiseAlert(tx, 'held.removals', held, time.nowMs));
    await look(fails);
    expect(lab.log.some((line) => line.includes('no route to the pager'))).to.equal(true);
    await look();
    expect(states()).to.deep.equal([]);
    await write((tx) => endAlert(tx, 'held.removals', time.nowMs));
    await look(fails);
    time.nowMs += 60_000;
    await look();
    await look();
    expect(states()).to.deep.equal(['held.removals raised', 'held.removals over']);
    expect([0, 1, 2, 30].map((tries) => retryDelayMs(tries, 60))).to.deep.equal([60_000, 120_000, 240_000, 3_600_000]);
  });

  it('are kept, logged and audited when nobody is configured', async () => {
    const { lab, look, time } = await begin();
    await write((tx) => raiseAlert(tx, 'held.removals', held, time.nowMs));
    await look(null);
    await look(null);
    expect(lab.log.filter((line) => line.includes('11 changes to orders are held: many'))).to.have.length(1);
    expect(await kit.rows("SELECT outcome FROM audit_log WHERE event='alert'")).to.deep.equal([{ outcome: 'raised' }]);
  });

  it('say that something is parked, and that nothing is any more', async () => {
    const { lab, look, states } = await begin();
    await lab.capture();
    await write((tx) =>
      tx.run(`UPDATE outbox_message SET ${forged.parked}, park_class='refused' WHERE entity='order'`),
    );
    await look();
    await write((tx) => tx.run(`UPDATE outbox_message SET ${forged.discarded} WHERE entity='order'`));
    await look();
    expect(states()).to.deep.equal(['parked raised', 'parked over']);
  });

  it('tell of an ERP that can not be read and of its return, and never hold delivery up', async () => {
    const lab = await kit.start({
      settings: { schedule: { capture: '* * * * * *', pull: '0 0 3 1 1 *' }, alert: { failuresInRow: 2 } },
    });
    await lab.changeErp('ALTER TABLE sales_orders RENAME TO moved_away');
    const told: string[] = [];
    const stop = new AbortController();
    const ended = runSchedule(
      lab.context,
      {
        reader: lab.reader,
        client: lab.client,
        tell: async ({ cause, state }) => void told.push(`${cause} ${state}`),
      },
      stop.signal,
    );
    try {
      await waitFor('the alert', () => told.includes('capture.failing raised'), 20_000);
      await lab.changeErp('ALTER TABLE moved_away RENAME TO sales_orders');
      await waitFor('its end', () => told.includes('capture.failing over'), 20_000);
      await waitFor('the orders', () => lab.sandbox.counts().orders === 12, 20_000);
    } finally {
      stop.abort();
      await ended;
    }
    expect(told).to.deep.equal(['capture.failing raised', 'capture.failing over']);
  });

  it('do not hold delivery up when the command hangs', async () => {
    const lab = await kit.start({ settings: { schedule: { capture: '* * * * * *', pull: '0 0 3 1 1 *' } } });
    await write((tx) => raiseAlert(tx, 'held.removals', held, Date.now()));
    let asked = false;
    const stop = new AbortController();
    const hangs: TellAlert = (_notice, signal) => {
      asked = true;
      return new Promise((_resolve, reject) =>
        signal.addEventListener('abort', () => reject(new Error('stopped')), { once: true }),
      );
    };
    lab.sandbox.change({ delayAfterMs: 300 });
    const ended = runSchedule(lab.context, { reader: lab.reader, client: lab.client, tell: hangs }, stop.signal);
    try {
      await waitFor('the command', () => asked, 20_000);
      await waitFor('the orders', () => lab.sandbox.counts().orders === 12, 20_000);
    } finally {
      stop.abort();
      await ended;
    }
    // Our own stop is no failure of theirs.
    expect(await kit.rows('SELECT tries, raised_told_at FROM alert')).to.deep.equal([
      { tries: 0, raised_told_at: null },
    ]);
  });
});
