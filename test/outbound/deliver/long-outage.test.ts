import { expect } from 'chai';
import { pull } from '../../../src/inbound/invoices/pull.js';
import { deliver } from '../../../src/outbound/deliver/deliver.js';
import { ServiceClient } from '../../../src/service/service-client.js';
import { resumeLane } from '../../../src/store/lane-pauses.js';
import { useStore } from '../../store/stores.js';
import { injectedService, type Outage } from '../../support/jobs/injected-service.js';
import { type LabOptions, useLab, withServiceLease } from '../../support/jobs/job-lab.js';
import { pausesOf, statesOf } from '../../support/jobs/service-of.js';
import { VirtualClock } from '../../support/virtual-clock.js';

/** Six were run before a release; five minutes show the same. */
const hours = Number(process.env.WAYBILL_OUTAGE_HOURS ?? 1 / 12);
const hourMs = 3_600_000;
const deadlineSeconds = 10;
const probeSeconds = 5;

describe('an outage on injected time', function () {
  this.timeout(Math.max(60_000, hours * 60_000));
  const kit = useLab(useStore('sqlite'));

  /** A daemon's deliverer and its pulls, every quarter of an hour, on a clock that jumps from event to event. */
  async function start(options: LabOptions) {
    const lab = await kit.start({
      ...options,
      settings: {
        service: { deadlineSeconds, concurrency: 4, ...(options.settings?.service as object | undefined) },
        delivery: { probeSeconds, leaseSeconds: 25, backoffBaseSeconds: 2, backoffMaxSeconds: 900, quickResends: 0 },
      },
    });
    await lab.capture();
    const clock = new VirtualClock(Date.now());
    const service = injectedService(clock, deadlineSeconds * 1000);
    Object.assign(lab.context, { clock, nowMs: clock.nowMs });
    const daemon = () => {
      const stopping = new AbortController();
      const { signal } = stopping;
      const client = new ServiceClient({
        service: lab.settings.service,
        quickResends: lab.settings.delivery.quickResends,
        nowMs: clock.nowMs,
        clock,
        adapter: service.adapter,
      });
      let isOver = false;
      const running = withServiceLease(lab.context, async (lease) => {
        const pulls = async () => {
          while (!signal.aborted) {
            await clock.sleep(900_000, signal);
            if (!signal.aborted) await pull(lab.context, client, lease, { waitsForTurn: true, signal });
          }
        };
        const scope = { only: null };
        const deliveries = deliver(lab.context, client, lease, {
          untilDrained: false,
          scope,
          retryHorizonMs: 0,
          trial: false,
          erp: lab.reader,
          signal,
        });
        await Promise.all([deliveries, pulls()]);
      }).finally(() => {
        isOver = true;
        client.close();
      });
      return async () => {
        stopping.abort();
        await clock.runUntil(clock.nowMs() + hourMs, () => isOver);
        await running;
      };
    };
    return { lab, clock, service, daemon };
  }

  const few = [1, 1] as const;
  const kinds: Outage[] = ['refused', 'no name', 'hang', '502', '503', '503 with Retry-After'];
  for (const kind of kinds) {
    // Fewer than it takes to open the breaker, if each counted once.
    for (const [customers, orders] of kind === '502' || kind === 'hang'
      ? [[12, 12] as const, few]
      : [[12, 12] as const]) {
      it(`(${kind}) parks none of ${customers + orders} messages, is probed every ${probeSeconds} s at most, and is over within 10 s`, async () => {
        const { clock, service, daemon } = await start({ customers, orders });
        service.away = kind;
        const downAt = clock.nowMs();
        let stop = daemon();
        await clock.runUntil(downAt + (hours * hourMs) / 2);
        await stop();
        stop = daemon();
        await clock.runUntil(downAt + hours * hourMs);

        const states = await statesOf(kit);
        expect(Object.keys(states)).to.not.include('parked');
        expect((await kit.rows("SELECT COUNT(*) AS n FROM audit_log WHERE event='parked'"))[0].n).to.equal(0);
        const [opened] = await kit.rows("SELECT MIN(at) AS at FROM audit_log WHERE event='pause' AND outcome='outage'");
        // Five failures open the breaker; until then each message follows its own backoff.
        expect(Number(opened.at) - downAt).to.be.below(100_000);
        const probes = service.requests.map(({ atMs }) => atMs).filter((atMs) => atMs > Number(opened.at));
        expect(probes.length).to.be.at.least((hours * 3600 - 100) / 11);
        for (const [i, at] of probes.slice(1).entries())
          expect(at - (probes[i] as number), `ms between two probes`).to.be.at.least(probeSeconds * 1000);

        service.away = null;
        const backAt = clock.nowMs();
        await clock.runUntil(backAt + 120_000);
        const first = service.requests.find(({ served, method }) => served && method !== 'GET');
        // While the only message hangs, nothing else can go: then its deadline and a moment count.
        const withinMs = kind === 'hang' && orders === 1 ? deadlineSeconds * 1000 + 150 : 10_000;
        expect((first?.atMs ?? Number.POSITIVE_INFINITY) - backAt).to.be.at.most(withinMs);
        await stop();
        expect(await statesOf(kit)).to.deep.equal({ delivered: customers + orders });
        expect(await pausesOf(kit)).to.deep.equal([]);
      });
    }
  }

  for (const [where, isFirst] of [
    ['the oldest of them', true],
    ['spread among the others', false],
  ] as const)
    it(`holds up none of 200 healthy orders for 20 at which the service fails each time: ${where}`, async () => {
      const { clock, service, daemon } = await start({ customers: 5, orders: 220 });
      const orders = await kit.rows(
        "SELECT b.record FROM outbox_message m JOIN message_body b ON b.message_id=m.id WHERE m.entity='order' ORDER BY m.next_attempt_at, m.id",
      );
      expect(orders).to.have.length(220);
      const notes = (isFirst ? orders.slice(0, 20) : orders.filter((_, i) => i % 11 === 3)).map(
        ({ record }) => JSON.parse(record).note,
      );
      service.isPoison = ({ note }) => notes.includes(note);
      const startedAt = clock.nowMs();
      const stop = daemon();
      let seconds = 0;
      for (; seconds < 600 && ((await statesOf(kit)).delivered ?? 0) < 205; seconds++)
        await clock.runUntil(startedAt + seconds * 1000);
      if (process.env.WAYBILL_OUTAGE_HOURS) process.stdout.write(`        ${seconds} s\n`);
      expect(await statesOf(kit)).to.include({ delivered: 205 });
      expect(seconds, 'seconds until the last healthy one was delivered').to.be.below(60);
      // A message that met the pause of the others was not sent, and has its turn after it.
      for (; seconds < 60 && (await statesOf(kit)).pending !== undefined; seconds++)
        await clock.runUntil(startedAt + seconds * 1000);

      await stop();
      expect(await statesOf(kit)).to.deep.equal({ delivered: 205, in_doubt: 20 });
    });

  describe('with a look-up, of creates whose keys the service may have forgotten', () => {
    const lookUpCustomer = {
      path: '/v1/customers',
      query: { customer_code: '{customer_code}' },
      list: 'data',
      id: 'customer_code',
      match: { customer_code: '{customer_code}' },
      absenceProves: true,
    };
    const settings = { service: { endpoints: { lookUpCustomer } } };
    const expire = () =>
      kit.store.transaction('let the keys expire', (tx) =>
        tx.run(
          "UPDATE outbox_message SET state='in_doubt', was_sent=1, first_sent_at=NULL, next_attempt_at=1 WHERE entity='customer'",
        ),
      );

    it('probes by looking one up where nothing else is left to send', async () => {
      const { clock, service, daemon } = await start({ customers: 1, orders: 1, settings });
      service.away = '502';
      const stop = daemon();
      await clock.runUntil(clock.nowMs() + 100_000);
      expect((await pausesOf(kit)).map(({ cause }) => cause)).to.deep.equal(['outage']);
      await stop();
      await expire();
      service.away = null;
      const backAt = clock.nowMs();
      const stopAgain = daemon();
      await clock.runUntil(backAt + 30_000);
      await stopAgain();
      expect(await pausesOf(kit)).to.deep.equal([]);
      expect(await statesOf(kit)).to.deep.equal({ delivered: 2 });
    });

    it('does not run into the deadline fifty times at once while the service is away', async () => {
      const { clock, service, daemon } = await start({ customers: 60, orders: 60, settings });
      await expire();
      service.away = 'hang';
      const startedAt = clock.nowMs();
      const stop = daemon();
      await clock.runUntil(startedAt + 120_000);
      await stop();
      expect((await pausesOf(kit)).map(({ cause }) => cause)).to.deep.equal(['outage']);
      const { length } = service.requests;
      // Four at a time until five have failed, and from then on one every five seconds at most.
      expect(length).to.be.within(10, 8 + 120 / probeSeconds);
    });
  });

  it('goes on when an operator ends the pause that the service’s own headers made, and pauses again when they say so again', async () => {
    const { clock, service, daemon } = await start({ customers: 3, orders: 12 });
    service.headers = { ratelimit: '"day";r=0;t=14400' };
    const stop = daemon();
    await clock.runUntil(clock.nowMs() + 60_000);
    const before = service.requests.length;
    expect((await pausesOf(kit)).map(({ cause }) => cause)).to.deep.equal(['limit']);
    const resume = () => kit.store.transaction('resume', (tx) => resumeLane(tx, 'service'));
    await resume();
    await clock.runUntil(clock.nowMs() + 60_000);
    expect(service.requests.length).to.be.above(before);
    expect((await pausesOf(kit)).map(({ cause }) => cause)).to.deep.equal(['limit']);
    service.headers = {};
    await resume();
    await clock.runUntil(clock.nowMs() + 60_000);
    await stop();
    expect(await statesOf(kit)).to.deep.equal({ delivered: 15 });
  });
});
