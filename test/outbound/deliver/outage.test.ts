import { expect } from 'chai';
import { type PullResult, pull } from '../../../src/inbound/invoices/pull.js';
import { legacy } from '../../../src/model/facts/fact.js';
import { tellStory } from '../../../src/operator/tell-story.js';
import { deliver } from '../../../src/outbound/deliver/deliver.js';
import { pauseLane } from '../../../src/store/lane-pauses.js';
import { describeStory } from '../../../src/telling/describe-story.js';
import { forged } from '../../support/forged.js';
import { type Lab, onAnyLab, withServiceLease } from '../../support/jobs/job-lab.js';
import {
  expectAllAtService,
  expectAttemptsFor,
  messageOf,
  orderNumbers,
  pausesOf,
} from '../../support/jobs/service-of.js';
import { waitFor } from '../../support/wait-for.js';

const minute = 60_000;
const hour = 60 * minute;

onAnyLab('an outage of the service', (kit) => {
  const waiting = { customers: 12, orders: 12, settings: { service: { concurrency: 2 } } };

  it('that is to end at four lets nothing through until then, neither orders nor pulls, whoever restarts', async () => {
    const lab = await kit.start({ ...waiting, settings: { service: { concurrency: 1 } } });
    await lab.capture();
    const startedAt = Date.now();
    let nowMs = startedAt;
    const restart = (actor: string) => {
      const restarted = lab.another({ actor });
      restarted.context.nowMs = () => nowMs;
      return restarted;
    };
    lab.sandbox.setFaults([{ kind: 'status', status: 503, headers: { 'retry-after': '3600' }, times: 1 }]);
    await restart('the first').deliver({ retryHorizonMs: 0 });
    expect(lab.sandbox.counts().requests).to.equal(1);
    for (let minutes = 0; minutes < 59; minutes += 14) {
      nowMs = startedAt + minutes * minute;
      const restarted = restart(`restart after ${minutes} minutes`);
      expect((await restarted.deliver({ retryHorizonMs: 0 })).attempts).to.equal(0);
      expect((await restarted.pull()).outcome).to.equal('held');
    }
    expect(lab.sandbox.counts().requests).to.equal(1);
    nowMs = startedAt + hour + 5_000;
    await restart('the last').deliver({ retryHorizonMs: 0 });
    await expectAllAtService(lab);
  });

  it('ends also where nothing but removals is left to see whether the service is back', async () => {
    const orders = { cancelled: { column: 'status', values: ['cancelled'] }, onCancelled: 'delete' };
    const lab = await kit.start({ customers: 1, orders: 4, settings: { orders } });
    await lab.capture({ sweep: true });
    await lab.deliver();
    await lab.changeErp("UPDATE sales_orders SET status='cancelled'");
    await lab.capture({ sweep: true });
    const outage = {
      lane: 'service',
      cause: 'outage',
      until_at: 1,
      reason: legacy('a test'),
      actor: 'test',
      since_at: 1,
    } as const;
    await kit.store.transaction('begin an outage', (tx) => pauseLane(tx, outage));
    expect((await lab.deliver()).stopped).to.equal(null);
    expect(lab.sandbox.counts().orders).to.equal(0);
  });

  describe('in which pulls are due', () => {
    const probeMs = 300;
    let stopping = new AbortController();
    afterEach(() => stopping.abort());

    /** A deliverer that goes on while the test pulls under the same lease, as a daemon does. */
    async function whileDelivering(
      lab: Lab,
      work: (pullNow: () => Promise<PullResult>) => Promise<void>,
    ): Promise<void> {
      stopping = new AbortController();
      const { signal } = stopping;
      await withServiceLease(lab.context, async (lease) => {
        const running = deliver(lab.context, lab.client, lease, {
          untilDrained: false,
          scope: { only: null },
          retryHorizonMs: 0,
          trial: false,
          erp: lab.reader,
          signal,
        });
        try {
          await waitFor('the breaker', async () => (await pausesOf(kit)).length > 0);
          await work(() => pull(lab.context, lab.client, lease, { waitsForTurn: true }));
        } finally {
          stopping.abort();
          await running;
        }
      });
    }
    const startedAt = async () =>
      (await kit.rows('SELECT started_at AS at FROM attempt WHERE started_at IS NOT NULL ORDER BY started_at')).map(
        ({ at }) => Number(at),
      );

    it('lets a pull have one turn of the probes, with one request, at their pace', async () => {
      const lab = await kit.start(waiting);
      await lab.capture();
      await lab.sandbox.goDown();
      await whileDelivering(lab, async (pullNow) => {
        const openedAt = Date.now();
        const probed = async (times: number) => (await startedAt()).filter((at) => at > openedAt).length >= times;
        await waitFor('a probe', () => probed(1));
        const result = await pullNow();
        expect(result).to.deep.include({ outcome: 'failed' });
        await waitFor('more probes', () => probed(4));
        const sent = (await startedAt()).filter((at) => at > openedAt);
        for (const [i, at] of sent.slice(1).entries()) expect(at - (sent[i] as number)).to.be.at.least(probeMs - 1);
      });
      const reads = await kit.rows("SELECT COUNT(*) AS n FROM attempt WHERE purpose='list_invoices'");
      expect(Number(reads[0].n)).to.equal(1);
    });

    it('is over when a pull gets an answer, although the only record fails on and on', async () => {
      const lab = await kit.start({ ...waiting, customers: 1, orders: 1 });
      await lab.capture();
      lab.sandbox.setFaults([{ kind: 'status', status: 500, match: { method: 'POST' } }]);
      await whileDelivering(lab, async (pullNow) => {
        expect(await pullNow()).to.deep.include({ outcome: 'proven' });
        expect(await kit.rows('SELECT cause FROM lane_pause')).to.deep.equal([]);
      });
    });
  });
});

onAnyLab('a bad record', (kit) => {
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
        `UPDATE outbox_message SET ${forged.parked}, park_class='refused', reason_code='legacy', reason_data='{"text":{"outside":"HTTP 400: no"}}' WHERE entity='customer' AND source_key=?`,
        ['1'],
      ),
    );
    await lab.deliver({ retryHorizonMs: 3_000 });
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
      maxProcessingMs: 1,
      canLookUpOrders: false,
      pauses: [],
      notLive: null,
      time: String,
    });
    expect(words.why.join('\n')).to.match(/It waits for its customer 1, which is parked \(refused.*\): HTTP 400: no/);
    expect(words.todo.map(({ command }) => command)).to.include('waybill explain customer 1');
  });
});
