import { expect } from 'chai';
import { deliver } from '../../../src/outbound/deliver/deliver.js';
import { ServiceClient } from '../../../src/service/service-client.js';
import { useStore } from '../../store/stores.js';
import { injectedService } from '../../support/jobs/injected-service.js';
import { useLab, withServiceLease } from '../../support/jobs/job-lab.js';
import { makeNamedSource, sourceSettings } from '../../support/jobs/named-source.js';
import { VirtualClock } from '../../support/virtual-clock.js';

/** 100,000 beside 1,000 and 10 at 1,000 a second in the long form: WAYBILL_LONG=1. */
const { large, middle, perSecond } = process.env.WAYBILL_LONG
  ? { large: 100_000, middle: 1_000, perSecond: 1_000 }
  : { large: 1_000, middle: 100, perSecond: 100 };
const small = 10;

describe('a large backlog of one source', function () {
  this.timeout(process.env.WAYBILL_LONG ? 900_000 : 60_000);
  const kit = useLab(useStore('sqlite'));

  for (const isResync of [false, true])
    it(`leaves the others their turns: they are delivered within 5 s (${isResync ? 'a resync' : 'new orders'})`, async () => {
      const first = await kit.start({ customers: 5, orders: large });
      const berlin = await makeNamedSource(kit, 'berlin', { customers: 5, orders: middle });
      const kiel = await makeNamedSource(kit, 'kiel', { customers: 5, orders: small });
      const lab = first.another({
        settings: {
          sources: sourceSettings({ berlin, kiel }),
          service: { limits: [{ requests: perSecond, perSeconds: 1 }], concurrency: 100 },
        },
      });
      const clock = new VirtualClock(Date.now());
      const service = injectedService(clock, 10_000);
      Object.assign(lab.context, { clock, nowMs: clock.nowMs });
      const client = new ServiceClient({
        service: lab.settings.service,
        quickResends: 0,
        nowMs: clock.nowMs,
        clock,
        adapter: service.adapter,
      });
      await lab.capture({ source: '' });
      if (isResync)
        await kit.store.transaction('as a resync', (tx) => tx.run('UPDATE outbox_message SET is_backlog=1'));
      const stop = new AbortController();
      let isOver = false;
      const running = withServiceLease(lab.context, (lease) =>
        deliver(lab.context, client, lease, {
          untilDrained: false,
          scope: { only: null },
          retryHorizonMs: 0,
          trial: false,
          erp: lab.reader,
          signal: stop.signal,
        }),
      ).finally(() => {
        isOver = true;
      });
      await clock.runUntil(clock.nowMs() + 2_000);
      const openOf = async (source: string) =>
        Number(
          (
            await kit.rows("SELECT COUNT(*) AS n FROM outbox_message WHERE source=? AND state<>'delivered'", [source])
          )[0].n,
        );
      expect(await openOf('')).to.be.above(5 * perSecond);
      await lab.capture({ source: 'berlin' });
      await lab.capture({ source: 'kiel' });
      const capturedAt = clock.nowMs();
      await clock.runUntil(capturedAt + 5_000);
      expect([await openOf('berlin'), await openOf('kiel')]).to.deep.equal([0, 0]);
      // Nor are they all that is sent.
      const rest = await openOf('');
      expect(rest).to.be.within(1, large - 2 * perSecond);
      stop.abort();
      await clock.runUntil(clock.nowMs() + 60_000, () => isOver);
      await running;
      client.close();
    });
});
