import { type AxiosAdapter, AxiosHeaders } from 'axios';
import { expect } from 'chai';
import { readOrdersBack } from '../../../src/inbound/orders/read-back.js';
import { deliver } from '../../../src/outbound/deliver/deliver.js';
import { ServiceClient } from '../../../src/service/service-client.js';
import { insertRows } from '../../../src/store/rows.js';
import { useStore } from '../../store/stores.js';
import { injectedService } from '../../support/jobs/injected-service.js';
import { useLab, withServiceLease } from '../../support/jobs/job-lab.js';
import { VirtualClock } from '../../support/virtual-clock.js';

const requestsPerSecond = 50;
const maxShare = 0.5;
const latencyMs = 5;
/** Two thousand show the same, and take longer. */
const old = Number(process.env.WAYBILL_READ_BACK_ORDERS ?? 500);
const fresh = 300;

describe('reading orders back on injected time', () => {
  const kit = useLab(useStore('sqlite'));

  /** Orders that were delivered long ago, and others that wait. */
  async function start() {
    const lab = await kit.start({
      customers: 2,
      orders: fresh,
      settings: {
        service: {
          endpoints: { readOrder: {} },
          concurrency: 60,
          limits: [{ requests: requestsPerSecond, perSeconds: 1 }],
        },
        orders: { readBack: { enabled: true, maxShare } },
      },
    });
    await lab.capture();
    await kit.store.transaction('bind old orders', (tx) =>
      insertRows(
        tx,
        'binding',
        Array.from({ length: old }, (_, i) => ({
          entity: 'order',
          source_key: `old-${i}`,
          folded_key: `OLD-${i}`,
          service_id: `id-${i}`,
          revision: 1,
          generation: 0,
          content_hash: '',
          mapping_fingerprint: '',
          acknowledged_at: 1,
        })),
      ),
    );
    const clock = new VirtualClock(Date.now());
    Object.assign(lab.context, { clock, nowMs: clock.nowMs });
    const service = injectedService(clock, 10_000);
    const reads: { id: string; atMs: number }[] = [];
    const adapter: AxiosAdapter = async (config) => {
      const id = /\/v1\/orders\/(.+)$/.exec(config.url ?? '')?.[1];
      if (config.method?.toUpperCase() !== 'GET' || id === undefined) return service.adapter(config);
      reads.push({ id, atMs: clock.nowMs() });
      await clock.sleep(latencyMs);
      const data = JSON.stringify({ order_id: id, status: 'confirmed', total: 1 });
      return { status: 200, statusText: '', headers: new AxiosHeaders(), config, data };
    };
    const client = new ServiceClient({
      service: lab.settings.service,
      quickResends: 0,
      nowMs: clock.nowMs,
      clock,
      adapter,
    });
    const sentAt = () => service.requests.filter(({ method }) => method === 'POST').map(({ atMs }) => atMs);
    return { lab, clock, client, reads, sentAt };
  }

  it(`takes no more than its share for ${old} orders, and nothing from a delivery that is at its limit`, async () => {
    const { lab, clock, client, reads, sentAt } = await start();
    const done = new AbortController();
    let isOver = false;
    const running = withServiceLease(lab.context, async (lease) => {
      const deliveries = deliver(lab.context, client, lease, {
        untilDrained: false,
        scope: { only: null },
        retryHorizonMs: 0,
        trial: false,
        erp: lab.reader,
        signal: done.signal,
      });
      const result = await readOrdersBack(lab.context, client, lease);
      done.abort();
      await deliveries;
      return result;
    }).finally(() => {
      isOver = true;
      client.close();
    });
    await clock.runUntil(clock.nowMs() + 3_600_000, () => isOver);
    expect(await running).to.include({ read: old + fresh, failed: 0, stopped: null });

    const sent = sentAt();
    expect(sent.length).to.equal(fresh + 2);
    const seconds = ((sent.at(-1) as number) - (sent[0] as number)) / 1000;
    // A place is free one window after its answer, which takes 50 ms.
    const mostPerSecond = requestsPerSecond / 1.05;
    expect(sent.length / seconds, 'sent per second').to.be.at.least(0.9 * mostPerSecond);

    // The service of this test gives one id to several of the fresh ones.
    const ofOld = reads.filter(({ id }) => id.startsWith('id-'));
    expect(new Set(ofOld.map(({ id }) => id)).size)
      .to.equal(ofOld.length)
      .and.to.equal(old);
    const times = reads.map(({ atMs }) => atMs);
    const most = Math.max(...times.map((at, i) => times.slice(i, i + 50).filter((other) => other < at + 1000).length));
    expect(most).to.be.at.most(requestsPerSecond * maxShare);
    const readingSeconds = ((times.at(-1) as number) - (sent.at(-1) as number)) / 1000;
    // The next one waits from the answer on.
    const pace = 1 / (1 / (requestsPerSecond * maxShare) + latencyMs / 1000);
    expect(reads.length / readingSeconds, 'reads per second').to.be.at.least(0.9 * pace);
  });
});
