import { expect } from 'chai';
import { ServiceClient } from '../../src/delivery/service-client.js';
import { type DeliverOptions, deliver } from '../../src/jobs/deliver.js';
import { describeStory } from '../../src/outbox/describe-story.js';
import { tellStory } from '../../src/outbox/tell-story.js';
import { waitFor } from '../support/wait-for.js';
import { type Lab, onBothLabs, withServiceLease } from './job-lab.js';
import {
  expectAllAtService,
  expectAttemptsFor,
  expectOneBodyPerKey,
  messageOf,
  orderNumbers,
  pausesOf,
  statesOf,
} from './service-of.js';

const minute = 60_000;
const hour = 60 * minute;

/**
 * A lab under injected time. Delivery runs until all that may be done at this moment is done; then the test moves the clock.
 * Every run is a deliverer that knows nothing but the store, as after a restart, unless `within` keeps one running.
 */
function underInjectedTime(lab: Lab) {
  const time = { nowMs: Date.now() };
  const startedAt = time.nowMs;
  lab.context.nowMs = () => time.nowMs;
  const client = new ServiceClient({
    service: lab.settings.service,
    quickResends: lab.settings.delivery.quickResends,
    nowMs: lab.context.nowMs,
  });
  const options: DeliverOptions = {
    untilDrained: true,
    scope: { only: null },
    retryHorizonMs: 0,
    trial: false,
    erpIdentity: lab.reader.identity(),
  };
  return {
    time,
    startedAt,
    pass: async (hours: number, step: () => Promise<number>) => {
      const until = time.nowMs + hours * hour;
      await withServiceLease(lab.context, async (lease) => {
        while (time.nowMs < until) {
          await deliver(lab.context, client, lease, options);
          time.nowMs = Math.min(until, Math.max(time.nowMs + 1, await step()));
        }
      });
    },
    now: () => withServiceLease(lab.context, (lease) => deliver(lab.context, client, lease, options)),
    close: () => client.close(),
  };
}

onBothLabs('an outage of the service', (kit) => {
  const longOutage = {
    customers: 12,
    orders: 12,
    settings: { service: { concurrency: 2 }, delivery: { probeSeconds: 5 } },
  };
  const requests = async () =>
    (
      await kit.rows('SELECT started_at, verdict FROM attempt WHERE started_at IS NOT NULL ORDER BY started_at, id')
    ).map(({ started_at: at, verdict }) => ({ at: Number(at), verdict: verdict as string }));
  /** The moment at which something may happen next. */
  const nextEvent = async (now: number) => {
    const [pause] = await kit.rows("SELECT MIN(until_at) AS at FROM lane_pause WHERE lane='service'");
    const [message] = await kit.rows(
      "SELECT MIN(next_attempt_at) AS at FROM outbox_message WHERE state IN ('pending','in_doubt')",
    );
    return Number(pause.at ?? Math.max(now + 100, Number(message.at)));
  };

  // Six hours with a probe every minute, and ten minutes with one every 5 s: the pace is the same rule.
  for (const [how, hours, probeSeconds] of [
    ['that refuses connections', 6, 60],
    ['that answers 502', 6, 60],
    ['that refuses connections', 1 / 6, 5],
    ['that answers 502', 1 / 6, 5],
  ] as const) {
    it(`of ${Math.round(hours * 60)} minutes ${how} parks nothing, is probed every ${probeSeconds} s at most, and is over with the next probe`, async function () {
      this.timeout(240_000);
      const lab = await kit.start({
        ...longOutage,
        settings: { service: { concurrency: 2 }, delivery: { probeSeconds } },
      });
      await lab.capture();
      const injected = underInjectedTime(lab);
      const { time } = injected;
      if (how.includes('502')) lab.sandbox.setFaults([{ kind: 'status', status: 502 }]);
      else await lab.sandbox.goDown();

      await injected.pass(hours, () => nextEvent(time.nowMs));
      const states = await statesOf(kit);
      expect(states.parked).to.equal(undefined);
      expect((states.pending ?? 0) + (states.in_doubt ?? 0)).to.equal(24);
      const sent = await requests();
      // Until five distinct messages have failed, each of them is tried; from there on it is one probe at a time.
      const probes = sent.filter(({ at }) => at > injected.startedAt + minute);
      expect(probes.length).to.be.within((hours * 1800 - 60) / probeSeconds, (hours * 3600) / probeSeconds);
      for (const [i, probe] of probes.entries())
        if (i > 0) expect(probe.at - (probes[i - 1]?.at as number)).to.be.at.least(probeSeconds * 1000);
      const [counted] = await kit.rows('SELECT SUM(failures) AS n FROM outbox_message');
      const failed = sent.filter(({ verdict }) => verdict === 'in_doubt').length;
      expect(Number(counted.n)).to.equal(failed);
      if (!how.includes('502')) expect(failed).to.equal(0);

      const returnedAt = time.nowMs;
      if (how.includes('502')) lab.sandbox.clearFaults();
      else await lab.sandbox.comeBack();
      await injected.pass((2 * probeSeconds) / 3600, () => nextEvent(time.nowMs));
      expect(lab.sandbox.counts().customers + lab.sandbox.counts().orders).to.be.greaterThan(0);
      const first = (await requests()).find(({ verdict }) => verdict === 'delivered');
      expect((first?.at as number) - returnedAt).to.be.at.most(Math.max(10_000, probeSeconds * 1000));
      expect(await pausesOf(kit)).to.deep.equal([]);
      // What waited long for its next try does not go on waiting: the service is back.
      await injected.pass(0.05, () => nextEvent(time.nowMs));
      injected.close();
      await expectAllAtService(lab);
      expectOneBodyPerKey(lab);
      expect(await statesOf(kit)).to.deep.equal({ delivered: 24 });
    });
  }

  it('is probed also when a single message waits, at the same pace', async () => {
    const lab = await kit.start({ ...longOutage, customers: 1, orders: 1 });
    await lab.capture();
    const injected = underInjectedTime(lab);
    const { time } = injected;
    await lab.sandbox.goDown();
    await withOneLease(lab, injected, time, 0.25, nextEvent);
    const probes = (await requests()).filter(({ at }) => at > injected.startedAt + minute);
    expect(probes.length).to.be.within(90, 180);
    await lab.sandbox.comeBack();
    await injected.pass(10 / 3600, () => nextEvent(time.nowMs));
    injected.close();
    await expectAllAtService(lab);
  });

  it('that is to end at four lets nothing through until then, neither orders nor pulls, whoever restarts', async () => {
    const lab = await kit.start({ ...longOutage, settings: { service: { concurrency: 1 } } });
    await lab.capture();
    const injected = underInjectedTime(lab);
    const { time } = injected;
    lab.sandbox.setFaults([{ kind: 'status', status: 503, headers: { 'retry-after': '3600' }, times: 1 }]);
    await injected.now();
    expect(lab.sandbox.counts().requests).to.equal(1);
    for (let minutes = 0; minutes < 59; minutes += 7) {
      time.nowMs = injected.startedAt + minutes * minute;
      const restarted = lab.another({ actor: `restart after ${minutes} minutes` });
      restarted.context.nowMs = () => time.nowMs;
      expect((await restarted.deliver({ retryHorizonMs: 0 })).attempts).to.equal(0);
      expect((await restarted.pull()).outcome).to.equal('held');
    }
    expect(lab.sandbox.counts().requests).to.equal(1);
    time.nowMs = injected.startedAt + hour + 5_000;
    await injected.now();
    injected.close();
    await expectAllAtService(lab);
  });

  it('holds a pull back while delivery looks whether the service is there', async () => {
    const lab = await kit.start(longOutage);
    await lab.capture();
    const injected = underInjectedTime(lab);
    await lab.sandbox.goDown();
    await injected.pass(0.02, () => nextEvent(injected.time.nowMs));
    injected.time.nowMs += 5_000;
    const held = await lab.pull();
    expect(held.outcome).to.equal('held');
    expect(held.reason).to.contain('delivery looks whether it is back');
    // Nobody delivers any more: then the pull finds out, and its success ends the outage.
    injected.time.nowMs += minute;
    await lab.sandbox.comeBack();
    expect((await lab.pull()).outcome).to.equal('complete');
    expect(await pausesOf(kit)).to.deep.equal([]);
    injected.close();
  });
});

/** The same deliverer all the time: what it learns, it keeps. */
async function withOneLease(
  lab: Lab,
  injected: ReturnType<typeof underInjectedTime>,
  time: { nowMs: number },
  hours: number,
  nextEvent: (now: number) => Promise<number>,
): Promise<void> {
  const until = time.nowMs + hours * hour;
  const stop = new AbortController();
  const running = withServiceLease(lab.context, (lease) =>
    deliver(lab.context, lab.client, lease, {
      untilDrained: false,
      scope: { only: null },
      retryHorizonMs: 0,
      trial: false,
      erpIdentity: lab.reader.identity(),
      signal: stop.signal,
    }),
  );
  try {
    // Its breaker counts in memory: real time until it is open, injected time from there on.
    const ticking = setInterval(() => {
      time.nowMs += 100;
    }, 10);
    await waitFor(
      'the breaker',
      async () =>
        Number(
          (
            await lab.context.store.read('look', (tx) =>
              tx.select("SELECT COUNT(*) AS n FROM lane_pause WHERE cause='outage'"),
            )
          )[0].n,
        ) > 0,
      30_000,
    );
    clearInterval(ticking);
  } finally {
    stop.abort();
    await running;
  }
  await injected.pass((until - time.nowMs) / hour, () => nextEvent(time.nowMs));
}

onBothLabs('a bad record', (kit) => {
  it('never holds up another, and its dependants say whom they wait for', async () => {
    const lab = await kit.start({
      customers: 6,
      orders: 40,
      seed: 3,
      settings: { service: { concurrency: 2 }, delivery: { probeSeconds: 0.1, outageAfterFailures: 3 } },
    });
    const numbers = await orderNumbers(lab);
    const [crashes, refused, ...more] = numbers;
    const crashing = [crashes, ...more.slice(0, 3)] as string[];
    const [first] = await lab.readErp('SELECT customer_no FROM customers ORDER BY id LIMIT 1');
    const badCustomer = first?.customer_no as string;
    await lab.capture();
    lab.sandbox.setFaults([
      ...crashing.map((number) => ({
        kind: 'status' as const,
        status: 500,
        match: { path: '/v1/orders', bodyIncludes: `"${number}"` },
      })),
      { kind: 'status', status: 400, match: { path: '/v1/orders', bodyIncludes: `"${refused}"` } },
    ]);
    await kit.store.transaction('a customer that nobody accepts', (tx) =>
      tx.run(
        "UPDATE outbox_message SET state='parked', park_class='refused', reason='HTTP 400: no' WHERE entity='customer' AND source_key=?",
        ['1'],
      ),
    );
    await lab.deliver({ retryHorizonMs: 8_000 });
    const expected = await lab.expectedOrders();
    const dependants = [...expected].filter(
      ([, order]) => (order as { customer_code: string }).customer_code === badCustomer,
    );
    const stuck = new Set([...crashing, refused as string, ...dependants.map(([number]) => number)]);
    await expectAllAtService(lab, [...stuck]);
    expect((await messageOf(kit, refused as string)).state).to.match(/parked|pending/);
    await expectAttemptsFor(kit, lab);

    const [number] = dependants.find(([one]) => one !== refused && !crashing.includes(one)) ?? [];
    const { source_key: key } = await messageOf(kit, number as string);
    const story = await kit.store.read('tell', (tx) => tellStory(tx, 'order', key));
    const words = describeStory(story, {
      nowMs: Date.now(),
      keyLifetimeMs: hour,
      pauses: [],
      notLive: null,
      time: String,
    });
    expect(words.why.join('\n')).to.match(/It waits for its customer 1, which is parked \(refused.*\): HTTP 400: no/);
    expect(words.todo.map(({ command }) => command)).to.include('waybill explain customer 1');
  });
});
