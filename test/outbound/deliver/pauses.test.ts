import { expect } from 'chai';
import { legacy } from '../../../src/model/facts/fact.js';
import { pauseJobs } from '../../../src/operator/actions/pause-jobs.js';
import { answerCountsMs, oldAnswerMs } from '../../../src/outbound/deliver/gate-state.js';
import { liveIdentity, writeGoLive } from '../../../src/outbound/deliver/go-live.js';
import { SendGate } from '../../../src/outbound/deliver/send-gate.js';
import { type PauseCause, pauseLane, resumeLane } from '../../../src/store/lane-pauses.js';
import type { Store } from '../../../src/store/store.js';
import { type Lab, onAnyLab, withServiceLease } from '../../support/jobs/job-lab.js';
import {
  expectAllAtService,
  expectAttemptsFor,
  messageOf,
  orderNumbers,
  pausesOf,
  statesOf,
} from '../../support/jobs/service-of.js';
import { told } from '../../support/told.js';
import { waitFor } from '../../support/wait-for.js';

onAnyLab('waiting for the service as a whole', (kit) => {
  const pauseBy = (store: Store, lane: 'deliver' | 'pull') =>
    store.transaction('pause', (tx) =>
      pauseLane(tx, {
        lane,
        cause: 'operator',
        until_at: null,
        reason: legacy('stock-taking'),
        actor: 'an operator',
        since_at: Date.now(),
      }),
    );
  const resume = (lane: 'deliver' | 'service', causes?: PauseCause[]) =>
    kit.store.transaction('resume', (tx) => resumeLane(tx, lane, causes));

  it('stops at an operator’s pause before the next request, gives back what it claimed, and goes on at resume', async () => {
    const lab = await kit.start({ customers: 1, orders: 40, settings: { service: { concurrency: 3 } } });
    await lab.capture();
    lab.sandbox.change({ delayAfterMs: 25 });
    const operator = await kit.connect();
    const running = lab.deliver({ untilDrained: false, signal: stopAfterwards() });
    await waitFor('some orders', () => lab.sandbox.counts().orders >= 6);
    const waits: number[] = [];
    const sleep = (ms: number) => lab.context.clock.sleep(ms).then(() => void waits.push(ms));
    const clock = { ...lab.context.clock, sleep };
    await pauseJobs({ ...lab.context, store: operator, clock }, ['deliver'], 'stock-taking');
    expect(waits[0], 'as long as a gate trusts what it was told').to.be.greaterThan(oldAnswerMs);
    const pausedAt = Date.now();
    await waitFor('everything to be given back', async () => !(await statesOf(kit)).sending);
    const late = lab.sandbox.ledger().requests.filter((request) => request.received_at_ms > pausedAt);
    // Those that had passed the gate, and no other.
    expect(late.length).to.be.at.most(3);
    const states = await statesOf(kit);
    expect(states.pending).to.be.greaterThan(20);
    expect(states.in_doubt).to.equal(undefined);
    const failures = await kit.rows('SELECT SUM(failures) AS n FROM outbox_message');
    expect(Number(failures[0].n)).to.equal(0);

    const requests = lab.sandbox.counts().requests;
    await resume('deliver');
    await waitFor('the rest', () => lab.sandbox.counts().orders === 40);
    expect(lab.sandbox.counts().requests).to.be.greaterThan(requests);
    stopping.abort();
    await running;
    await expectAllAtService(lab);
    await expectAttemptsFor(kit, lab);
  });

  it('heeds for a moment what the store said, unless something was claimed or may have been paused since', async () => {
    const { context } = await kit.start();
    let nowMs = 100;
    let reads = 0;
    const clock = { ...context.clock, monotonicMs: () => nowMs };
    const store = new Proxy(context.store, {
      get: (target, name) => {
        if (name === 'read') reads++;
        const value = Reflect.get(target, name) as unknown;
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    await withServiceLease(context, async (lease) => {
      Object.defineProperty(lease, 'mayStartRequest', { value: () => true });
      const gate = new SendGate({ ...context, store, clock }, lease, null);
      const isHeld = async () => (await gate.check('deliver')) !== null;
      expect(await isHeld()).to.equal(false);
      await pauseBy(kit.store, 'deliver');
      nowMs += answerCountsMs - 1;
      expect(await isHeld(), 'a moment later').to.equal(false);
      expect(reads).to.equal(1);
      nowMs += 1;
      expect(await isHeld(), 'when the moment is over').to.equal(true);

      await resume('deliver');
      gate.forget();
      expect(await isHeld(), 'after a claim').to.equal(false);
      await pauseBy(kit.store, 'deliver');
      gate.holdUntil(Promise.resolve());
      expect(await isHeld(), 'after an outcome that may pause').to.equal(true);
      await resume('deliver');
      lease.lane.changes++;
      expect(await isHeld(), 'after a pause of this process').to.equal(false);
    });
  });

  describe('when an answer of the store is old', () => {
    /** Asks the gate with so many requests at once. @param meanwhile what happens between an answer and its being noticed */
    const ask = async (requests: number, meanwhile: (read: number) => Promise<number>) => {
      const { context } = await kit.start();
      let nowMs = 100;
      let reads = 0;
      const clock = { ...context.clock, monotonicMs: () => nowMs };
      const store = Object.create(context.store) as Store;
      store.read = async (action, work) => {
        const answer = await context.store.read(action, work);
        nowMs += await meanwhile(++reads);
        return answer;
      };
      return withServiceLease(context, async (lease) => {
        Object.defineProperty(lease, 'mayStartRequest', { value: () => true });
        const gate = new SendGate({ ...context, store, clock }, lease, null);
        const answers = await Promise.all(Array.from({ length: requests }, () => gate.check('deliver')));
        return { held: answers.filter((answer) => answer !== null).length, reads };
      });
    };

    it('heeds a pause that came while the process stood still, with all requests that shared the answer', async () => {
      const standsStill = async (read: number) => {
        if (read > 1) return 0;
        await pauseBy(kit.store, 'deliver');
        return oldAnswerMs;
      };
      expect(await ask(5, standsStill)).to.deep.equal({ held: 5, reads: 2 });
    });

    it('asks once more, and no third time, where the store is that slow', async () => {
      expect(await ask(5, async () => oldAnswerMs)).to.deep.equal({ held: 0, reads: 2 });
      expect(await ask(5, async () => oldAnswerMs - 1)).to.deep.equal({ held: 0, reads: 1 });
    });
  });

  it('lets nothing go while nobody can say whether it is paused', async () => {
    const { context } = await kit.start();
    const store = new Proxy(context.store, {
      get: (target, name) => {
        if (name === 'read') return () => Promise.reject(new Error('the server has gone away'));
        const value = Reflect.get(target, name) as unknown;
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    const answer = await withServiceLease(context, (lease) =>
      new SendGate({ ...context, store }, lease, null).check('deliver'),
    );
    expect(told(answer)).to.contain('the server has gone away');
  });

  it('does not begin while the lane is paused, also after a restart, and does not wait for a person', async () => {
    const lab = await kit.start();
    await lab.capture();
    await pauseBy(kit.store, 'deliver');
    const result = await lab.another({ actor: 'after a restart' }).deliver();
    expect(result).to.deep.include({ attempts: 0 });
    expect(told(result.stopped)).to.equal('deliver is paused (operator): stock-taking');
    expect(lab.sandbox.counts().requests).to.equal(0);
  });

  for (const retryAfter of ['http-date', 'absent'] as const) {
    it(`heeds 429 with Retry-After ${retryAfter}: durably, at once, and at no message’s expense`, async () => {
      const lab = await kit.start({
        customers: 1,
        orders: 6,
        sandbox: { limits: [{ requests: 4, windowMs: 2_000 }], retryAfter },
        settings: { service: { concurrency: 1 } },
      });
      await lab.capture();
      const result = await lab.deliver();
      expect(result).to.deep.include({ delivered: { customers: 1, orders: 6 }, parked: 0, inDoubt: 0, stopped: null });
      expect(result.throttled).to.be.within(1, 4);
      await expectAllAtService(lab);
      const [counted] = await kit.rows('SELECT MAX(failures) AS failures FROM outbox_message');
      expect(counted).to.deep.equal({ failures: 0 });
      const { requests } = lab.sandbox.ledger();
      for (const [i, request] of requests.entries()) {
        const next = requests[i + 1];
        if (!request.throttled || !next) continue;
        expect(next.received_at_ms - (request.answered_at_ms as number)).to.be.at.least(600);
      }
      expect(
        (await kit.rows("SELECT COUNT(*) AS n FROM audit_log WHERE event='pause' AND outcome='throttled'"))[0].n,
      ).to.equal(result.throttled);
    });
  }

  it('keeps a pause of hours in the store, and says when it will go on instead of waiting', async () => {
    const lab = await kit.start({ settings: { service: { concurrency: 1 } } });
    await lab.capture();
    lab.sandbox.setFaults([{ kind: 'status', status: 503, headers: { 'retry-after': '7200' } }]);
    const result = await lab.deliver();
    expect(told(result.stopped)).to.match(/^service is paused \(throttled\): HTTP 503/);
    const [pause] = await pausesOf(kit);
    expect(pause).to.deep.include({ lane: 'service', cause: 'throttled' });
    expect(pause.until_at).to.be.within(Date.now() + 7_100_000, Date.now() + 7_200_000);
    lab.sandbox.clearFaults();
    expect((await lab.another({ actor: 'after a restart' }).deliver()).attempts).to.equal(0);
    expect(lab.sandbox.counts().requests).to.equal(1);

    const later = lab.another({});
    later.context.nowMs = () => Date.now() + 7_201_000;
    await later.deliver();
    await expectAllAtService(lab);
    expect(await pausesOf(kit)).to.deep.equal([]);
  });

  it('pauses everything and alerts when the credential is not accepted', async () => {
    const lab = await kit.start({ settings: { service: { concurrency: 1 } } });
    await lab.capture();
    lab.sandbox.change({ token: 'another-token' });
    const result = await lab.deliver();
    expect(told(result.stopped)).to.contain('service is paused (credential)');
    expect(await pausesOf(kit)).to.have.length(1);
    expect(lab.sandbox.counts().requests).to.equal(1);
    expect(await statesOf(kit)).to.deep.equal({ pending: 16 });
    expect(
      lab.log.some((line) => line.includes('"level":"error"') && line.includes('does not accept our credential')),
    ).to.equal(true);
    expect((await lab.pull()).outcome).to.equal('held');

    lab.sandbox.change({ token: 'sandbox-token' });
    await resume('service');
    await lab.deliver();
    await expectAllAtService(lab);
  });

  it('pauses the lane and alerts when the service forbids or redirects', async () => {
    for (const fault of [{ kind: 'redirect' }, { kind: 'status', status: 403 }] as const) {
      const lab = await kit.start({ settings: { service: { concurrency: 1 } } });
      await kit.store.transaction('begin anew', (tx) => tx.run('DELETE FROM outbox_message'));
      await lab.capture({ sweep: true });
      lab.sandbox.setFaults([fault]);
      expect(told((await lab.deliver()).stopped)).to.contain('deliver is paused (misconfigured)');
      expect(lab.sandbox.counts().requests).to.equal(1);
      await resume('deliver');
    }
  });

  it('takes a wrong success status for no outage: it pauses delivery and names the setting', async () => {
    const service = { concurrency: 1, endpoints: { createOrder: { successStatus: 200 } } };
    const lab = await kit.start({ customers: 1, orders: 3, settings: { service } });
    await lab.capture();
    const { stopped } = await lab.deliver();
    expect(told(stopped)).to.contain('deliver is paused (unproven)').and.contain('createOrder.successStatus is 200');
    expect((await kit.rows('SELECT cause FROM lane_pause')).map(({ cause }) => cause)).to.deep.equal(['unproven']);
    const right = lab.another({ settings: { service: { endpoints: { createOrder: { successStatus: 201 } } } } });
    await resume('deliver');
    await right.deliver();
    expect(await statesOf(kit)).to.deep.equal({ delivered: 3, parked: 1 });
    expect(lab.sandbox.counts()).to.include({ orders: 3, duplicateReferences: 0 });
  });

  it('pauses the lane after ten equal refusals in a row', async () => {
    const lab = await kit.start({ customers: 1, orders: 30, settings: { service: { concurrency: 1 } } });
    await lab.capture();
    lab.sandbox.setFaults([
      {
        kind: 'status',
        status: 400,
        body: { error: { code: 'invalid_request', message: 'field note is not allowed here' } },
        match: { path: '/v1/orders' },
      },
    ]);
    const result = await lab.deliver();
    expect(result).to.deep.include({ parked: 10 });
    expect(told(result.stopped)).to.contain('deliver is paused (refusals)');
    expect(await statesOf(kit)).to.deep.equal({ delivered: 1, parked: 10, pending: 20 });
  });

  describe('when the service is down', () => {
    const down = { customers: 12, orders: 12, settings: { service: { concurrency: 2 } } };

    it('probes with one message after another, parks nothing, and delivers soon after its return', async () => {
      const lab = await kit.start(down);
      await lab.capture();
      await lab.sandbox.goDown();
      const running = lab.deliver({ untilDrained: false, signal: stopAfterwards() });
      await waitFor('the breaker', async () => (await pausesOf(kit)).some(({ cause }) => cause === 'outage'));
      const openedAt = Date.now();
      const attempts = () =>
        kit.rows("SELECT message_id, started_at FROM attempt WHERE verdict='unavailable' ORDER BY id");
      const probes = async () => (await attempts()).filter(({ started_at: at }) => at > openedAt);
      await waitFor('some probes', async () => (await probes()).length >= 5);
      const some = (await probes()).slice(0, 5);
      expect(new Set(some.map(({ message_id: id }) => id)).size).to.equal(5);
      for (const [i, probe] of some.entries()) {
        const before = some[i - 1];
        if (before) expect(probe.started_at - before.started_at).to.be.at.least(290);
      }
      const [pause] = await kit.rows("SELECT since_at FROM lane_pause WHERE cause='outage'");
      expect(pause.since_at).to.be.at.most(openedAt);
      const said = await kit.rows("SELECT COUNT(*) AS n FROM audit_log WHERE event='alert' OR event='pause'");
      expect(said[0].n, 'one pause and one alert, however long it lasts').to.equal(2);

      await lab.sandbox.comeBack();
      const backAt = performance.now();
      await waitFor('the first delivery', () => lab.sandbox.counts().customers > 0, 5_000);
      await waitFor('all deliveries', async () => (await statesOf(kit)).delivered === 24);
      expect(performance.now() - backAt).to.be.below(10_000);
      stopping.abort();
      await running;
      expect(await statesOf(kit)).to.deep.equal({ delivered: 24 });
      expect(await pausesOf(kit)).to.deep.equal([]);
      await expectAllAtService(lab);
    });

    it('goes on probing one at a time after a restart, and does not begin anew with a volley', async () => {
      const lab = await kit.start(down);
      await lab.capture();
      await lab.sandbox.goDown();
      await lab.deliver({ retryHorizonMs: 1_000 });
      const before = (await kit.rows('SELECT COUNT(*) AS n FROM attempt WHERE started_at IS NOT NULL'))[0].n;
      const startedAt = performance.now();
      await lab.another({ actor: 'after a restart' }).deliver({ retryHorizonMs: 1_000 });
      const after = (await kit.rows('SELECT COUNT(*) AS n FROM attempt WHERE started_at IS NOT NULL'))[0].n;
      expect(after - before).to.be.within(1, Math.ceil((performance.now() - startedAt) / 300) + 1);
    });
  });

  describe('a production service', () => {
    const production = (lab: Lab) => lab.another({ settings: { service: { environment: 'production' } } });
    const goLive = (lab: Lab, erp = lab.reader.identity()) =>
      kit.store.transaction('go live', (tx) =>
        writeGoLive(tx, liveIdentity(lab.settings, erp), 'an operator', Date.now()),
      );

    it('gets nothing before go-live, and all after', async () => {
      const lab = production(await kit.start());
      await lab.capture();
      const result = await lab.deliver();
      expect(told(result.stopped)).to.contain('not live yet');
      expect(lab.sandbox.counts().requests).to.equal(0);
      expect(await kit.rows('SELECT COUNT(*) AS n FROM attempt')).to.deep.equal([{ n: 0 }]);
      await goLive(lab);
      await lab.deliver();
      await expectAllAtService(lab);
    });

    it('gets the few records of a trial before', async () => {
      const lab = production(await kit.start());
      await lab.capture({ limit: 1 });
      const [number] = await orderNumbers(lab);
      expect(await lab.deliver({ trial: true })).to.deep.include({ delivered: { customers: 1, orders: 1 } });
      expect((await messageOf(kit, number as string)).state).to.equal('delivered');
    });

    it('gets nothing when something changed since', async () => {
      const lab = production(await kit.start());
      await lab.capture();
      await goLive(lab, 'the ERP before it was copied');
      const erp = await lab.deliver();
      expect(told(erp.stopped)).to.match(
        /held since something changed: the ERP database was the ERP before it was copied/,
      );
      const renamed = lab.another({ settings: { installation: 'another-office' } });
      await goLive(lab);
      expect(told((await renamed.deliver()).stopped)).to.contain(
        'the installation name was test-office and is another-office',
      );
      expect(lab.sandbox.counts().requests).to.equal(0);
      await lab.deliver();
      await expectAllAtService(lab);
    });

    it('stops in the middle when it is no longer live', async () => {
      const lab = production(await kit.start({ customers: 1, orders: 30, settings: { service: { concurrency: 2 } } }));
      await lab.capture();
      await goLive(lab);
      lab.sandbox.change({ delayAfterMs: 25 });
      const running = lab.deliver();
      await waitFor('some orders', () => lab.sandbox.counts().orders >= 4);
      const other = await kit.connect();
      await other.transaction('change', (tx) =>
        writeGoLive(tx, liveIdentity(lab.settings, 'another ERP'), 'an operator', Date.now()),
      );
      const changedAt = Date.now();
      expect(told((await running).stopped)).to.contain('held since something changed');
      const late = lab.sandbox.ledger().requests.filter((request) => request.received_at_ms > changedAt);
      expect(late.length).to.be.at.most(2);
    });
  });

  /** Whatever a test leaves running is stopped after it, also when it failed. */
  let stopping = new AbortController();
  const stopAfterwards = () => {
    stopping = new AbortController();
    return stopping.signal;
  };
  afterEach(() => stopping.abort());
});
