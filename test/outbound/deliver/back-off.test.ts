import { type AxiosAdapter, AxiosHeaders } from 'axios';
import { expect } from 'chai';
import { pull } from '../../../src/inbound/invoices/pull.js';
import { deliver } from '../../../src/outbound/deliver/deliver.js';
import type { ServiceLease } from '../../../src/outbound/deliver/service-lease.js';
import { ServiceClient } from '../../../src/service/service-client.js';
import { useStore } from '../../store/stores.js';
import { type Lab, useLab, withServiceLease } from '../../support/jobs/job-lab.js';
import { VirtualClock } from '../../support/virtual-clock.js';

const lookUpCustomer = {
  path: '/v1/customers/{customer_code}',
  id: 'customer_code',
  match: { customer_code: '{customer_code}' },
};

describe('the back-off from a service that says "slow down" and names no time', () => {
  const kit = useLab(useStore('sqlite'));

  /** Says 429 five times, and serves everything after that. */
  async function start() {
    const service = { endpoints: { lookUpCustomer }, limits: [{ requests: 1_000, perSeconds: 1 }] };
    const lab = await kit.start({ customers: 1, orders: 1, settings: { service } });
    await lab.capture();
    const clock = new VirtualClock(Date.now());
    Object.assign(lab.context, { clock, nowMs: clock.nowMs });
    const sentAt: { method: string; atMs: number }[] = [];
    const adapter: AxiosAdapter = async (config) => {
      const method = (config.method ?? '').toUpperCase();
      sentAt.push({ method, atMs: clock.nowMs() });
      const isThrottled = sentAt.length <= 5;
      const code = /customers\/(.+)$/.exec(config.url ?? '')?.[1] ?? JSON.parse(config.data ?? '{}').customer_code;
      const body = isThrottled ? {} : { customer_code: code, data: [], total: 0 };
      const success = method === 'GET' ? 200 : 201;
      const status = isThrottled ? 429 : success;
      const data = JSON.stringify(body);
      return { status, statusText: '', headers: new AxiosHeaders(), config, data };
    };
    const client = new ServiceClient({
      service: lab.settings.service,
      quickResends: 0,
      nowMs: clock.nowMs,
      clock,
      adapter,
    });
    return { lab, clock, client, sentAt };
  }

  /** The first six requests of a job, and the seconds between each and the next. */
  async function waits(
    job: (lab: Lab, client: ServiceClient, lease: ServiceLease, signal: AbortSignal) => Promise<unknown>,
  ) {
    const { lab, clock, client, sentAt } = await start();
    const stop = new AbortController();
    let isOver = false;
    const running = withServiceLease(lab.context, (lease) => job(lab, client, lease, stop.signal)).finally(() => {
      isOver = true;
    });
    await clock.runUntil(clock.nowMs() + 120_000, () => sentAt.length >= 6);
    stop.abort();
    await clock.runUntil(clock.nowMs() + 60_000, () => isOver);
    await running;
    client.close();
    const first = sentAt.slice(0, 6);
    const gaps = first.slice(1).map(({ atMs }, i) => Math.round((atMs - (first[i]?.atMs ?? 0)) / 1000));
    return { gaps, methods: [...new Set(first.map(({ method }) => method))] };
  }

  const delivery = (lab: Lab, client: ServiceClient, lease: ServiceLease, signal: AbortSignal) =>
    deliver(lab.context, client, lease, {
      untilDrained: false,
      scope: { only: null },
      retryHorizonMs: 0,
      trial: false,
      erp: lab.reader,
      signal,
    });

  const same = [1, 2, 4, 8, 16];

  it('is the same for delivery', async () => {
    expect(await waits(delivery)).to.deep.equal({ gaps: same, methods: ['POST'] });
  });

  it('is the same for look-ups', async () => {
    const looking = await waits(async (lab, client, lease, signal) => {
      await kit.store.transaction('let the key expire', (tx) =>
        tx.run(
          "UPDATE outbox_message SET state='in_doubt', was_sent=1, first_sent_at=NULL, next_attempt_at=1 WHERE entity='customer'",
        ),
      );
      await delivery(lab, client, lease, signal);
    });
    expect(looking).to.deep.equal({ gaps: same, methods: ['GET'] });
  });

  it('is the same for a pull, also from one pull to the next', async () => {
    const pulling = await waits(async (lab, client, lease, signal) => {
      // A pull gives up after four tries; the next one goes on where the waits were.
      while (!signal.aborted) {
        await pull(lab.context, client, lease, { signal });
        await lab.context.clock.sleep(100, signal);
      }
    });
    expect(pulling).to.deep.equal({ gaps: same, methods: ['GET'] });
  });
});
