import { expect } from 'chai';
import fc from 'fast-check';
import { appendAudit } from '../../src/audit/audit-log.js';
import { readBuckets, readSeries, slotsOf } from '../../src/operator/figures/read-figures.js';
import { recordFigures } from '../../src/operator/figures/record-figures.js';
import {
  addBuckets,
  type Bucket,
  emptyBucket,
  gather,
  quantileS,
  spanEndsS,
} from '../../src/operator/figures/series.js';
import type { JobContext } from '../../src/ops/job-context.js';
import { insertMessages } from '../../src/outbound/outbox/new-messages.js';
import { systemClock } from '../../src/store/clock.js';
import type { Store } from '../../src/store/store.js';
import { onEveryStore } from '../store/stores.js';
import { forged } from '../support/forged.js';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const noon = Date.UTC(2026, 2, 28, 12);

describe('figures over time', () => {
  const counts = fc.array(fc.nat(50), { minLength: spanEndsS.length + 1, maxLength: spanEndsS.length + 1 });

  it('say within which time a share of the messages was acknowledged', () => {
    const spans = (values: { [end: number]: number }) =>
      [...spanEndsS, Number.POSITIVE_INFINITY].map((end) => values[end] ?? 0);
    expect(quantileS(spans({}), 0.5)).to.equal(null);
    expect(quantileS(spans({ 10: 4 }), 0.5)).to.equal(7.5);
    expect(quantileS(spans({ 2: 90, 3600: 10 }), 0.5)).to.be.within(1, 2);
    expect(quantileS(spans({ 2: 90, 3600: 10 }), 0.95)).to.be.within(1_800, 3_600);
    expect(quantileS([...spanEndsS.map(() => 0), 3], 0.5), 'longer than any').to.equal(86_400);
  });

  it('never say less for a greater share', () => {
    fc.assert(
      fc.property(counts, fc.double({ min: 0.01, max: 0.5, noNaN: true }), (spans, share) => {
        const [less, more] = [quantileS(spans, share), quantileS(spans, share * 2)];
        if (less !== null && more !== null) expect(more).to.be.at.least(less);
      }),
    );
  });

  it('lose nothing where they are gathered', () => {
    const bucket = fc.record({
      at: fc.integer({ min: 0, max: 20 }).map((nth) => nth * minuteMs),
      delivered: fc.nat(100),
      notDelivered: fc.nat(100),
      requests: fc.nat(100),
      spans: counts,
      waiting: fc.option(fc.nat(100)),
      oldestS: fc.option(fc.nat(100)),
    });
    fc.assert(
      fc.property(fc.array(bucket), (buckets) => {
        const all = (of: readonly Bucket[]) => of.reduce(addBuckets, emptyBucket(0));
        const gathered = gather(buckets, (at) => at - (at % (5 * minuteMs)));
        expect(all(gathered)).to.deep.equal(all(buckets));
        expect(new Set(gathered.map(({ at }) => at)).size).to.equal(gathered.length);
      }),
    );
  });

  it('have a point for every day, also where a day has 23 hours', () => {
    const days = slotsOf('quarter', noon + 2 * 24 * hourMs, 'Europe/Berlin');
    expect(days).to.have.length(90);
    // Midnight of the 29th, in whose night the clock goes forward, and of the 30th.
    const [last = 0, before = 0] = [...days].reverse();
    expect(last - before).to.equal(23 * hourMs);
    expect(slotsOf('day', noon + 1, 'UTC').at(-1)).to.equal(noon);
    expect(slotsOf('hour', noon, 'UTC')).to.have.length(60);
  });
});

onEveryStore('the figures in the store', (kit) => {
  let nowMs = noon;
  let attempts = 0;
  /** The error of the clock on the wall. */
  let aheadMs = 0;
  const sinceBoot = () => ({ bootId: 'lab', bootMs: nowMs - aheadMs });
  const record = (store: Store = kit.store) =>
    recordFigures({ store, nowMs: () => nowMs, clock: { ...systemClock, sinceBoot } } as JobContext);
  const buckets = (width: 'minute' | 'hour') =>
    kit.store.read('look', (tx) => readBuckets(tx, width, 0, Number.MAX_SAFE_INTEGER));

  beforeEach(async () => {
    nowMs = noon;
    aheadMs = 0;
    attempts = 0;
    await record();
  });

  /** An order that was captured so long before it was acknowledged, at `at`; verdict null: it is being looked up. */
  async function send(at: number, tookMs: number, verdict: string | null = 'delivered'): Promise<number> {
    const nth = ++attempts;
    await kit.store.transaction('send', async (tx) => {
      const message = {
        entity: 'order' as const,
        sourceKey: String(nth),
        revision: 1,
        operation: 'create' as const,
        generation: 0,
        number: null,
        customerKey: null,
        contentHash: 'h',
        mappingFingerprint: 'm',
        record: '{}',
        idempotencyKey: null,
        parked: null,
      };
      await insertMessages(tx, [message], at - tookMs);
      if (verdict === 'delivered') {
        await tx.run(
          `UPDATE outbox_message SET state='delivered', next_attempt_at=NULL, started_at=?, duration_ms=50, requests=1, delivered_at=?,
                  closed_at=? WHERE source_key=?`,
          [at - 50, at, at, String(nth)],
        );
        const id = await tx.value<number>('SELECT id FROM outbox_message WHERE source_key=?', [String(nth)]);
        await appendAudit(tx, [{ event: 'delivered', actor: 'test', messageId: Number(id), detail: {} }], at);
        return;
      }
      await tx.run(
        `INSERT INTO attempt (message_id, purpose, number, epoch, intended_at, started_at, duration_ms, requests, verdict)
           SELECT id, ?, 1, 1, ?, ?, 50, 1, ? FROM outbox_message WHERE source_key=?`,
        [verdict === null ? 'look_up' : 'create', at - 60, at - 50, verdict, String(nth)],
      );
    });
    return nth;
  }

  it('count each sending once, in its own minute and hour', async () => {
    for (const tookMs of [1_500, 1_700, 40_000]) await send(noon + 10_000, tookMs);
    await send(noon + minuteMs + 10_000, 2_500);
    await send(noon + minuteMs + 10_000, 0, 'refused');
    nowMs = noon + 2 * minuteMs;
    await record();
    await record();
    const minutes = await buckets('minute');
    expect(
      minutes.map(({ at, delivered, notDelivered, requests }) => [at, delivered, notDelivered, requests]),
    ).to.deep.equal([
      [noon, 3, 0, 3],
      [noon + minuteMs, 1, 1, 2],
      [noon + 2 * minuteMs, 0, 0, 0],
    ]);
    expect(minutes[0]?.spans.slice(0, 8)).to.deep.equal([0, 2, 0, 0, 0, 0, 1, 0]);
    const [hour] = await buckets('hour');
    expect(hour).to.include({ at: noon, delivered: 4, notDelivered: 1, requests: 5 });
  });

  it('wait for what is under way, and count a sending once although two processes look', async () => {
    await send(noon + 1_000, 0, 'refused');
    await send(noon + 2_000, 0, null);
    await send(noon + 3_000, 0, 'refused');
    await send(noon + minuteMs - 1_000, 1_500);
    nowMs = noon + minuteMs;
    await record();
    const { delivered, notDelivered } = (await buckets('hour'))[0] ?? {};
    expect([delivered, notDelivered], 'those before it, and none that may be beside others').to.deep.equal([0, 1]);
    nowMs += 20_000;
    await kit.store.transaction('end', (tx) => tx.run("UPDATE attempt SET verdict='none' WHERE verdict IS NULL"));
    const slow = {
      read: async (...asked: Parameters<Store['read']>) => {
        const found = await kit.store.read(...asked);
        await record(await kit.connect());
        return found;
      },
      transaction: (...asked: Parameters<Store['transaction']>) => kit.store.transaction(...asked),
    };
    await record(slow as Store);
    expect((await buckets('hour'))[0]).to.include({ delivered: 1, notDelivered: 2, requests: 4 });
  });

  it('keep the backlog of each look, and of an hour the most', async () => {
    for (const nth of [1, 2]) await send(noon + nth * 1_000, 0, 'refused');
    nowMs = noon + 30_000;
    await record();
    expect((await buckets('minute'))[0]).to.include({ waiting: 2, oldestS: 29 });
    await kit.store.transaction('close', (tx) => tx.run(`UPDATE outbox_message SET ${forged.delivered}`));
    nowMs = noon + minuteMs;
    await record();
    expect((await buckets('minute'))[1]).to.include({ waiting: 0, oldestS: 0 });
    expect((await buckets('hour'))[0]).to.include({ waiting: 2, oldestS: 29 });
  });

  it('count a delivery that a faster clock noted, when it is old enough, and once', async () => {
    await send(noon + minuteMs + 8_000, 1_500);
    nowMs = noon + minuteMs;
    await record();
    expect((await buckets('hour'))[0]?.delivered, 'another one may be committed before it yet').to.equal(0);
    for (let nth = 0; nth < 2; nth++) {
      nowMs += minuteMs;
      await record();
      expect((await buckets('hour'))[0]?.delivered).to.equal(1);
    }
  });

  it('lose nothing to a clock that is wrong for a moment, and what it left ahead a day later', async () => {
    const dayMs = 24 * hourMs;
    const look = async (days: number, aheadDays = 0) => {
      aheadMs = aheadDays * dayMs;
      nowMs = noon + days * dayMs + aheadMs;
      await send(nowMs, 0, 'refused');
      await record();
      return (await buckets('hour')).map(({ at }) => Math.floor((at - noon) / dayMs));
    };
    for (const days of [0, 1, 2]) await look(days);
    const minutes = (await buckets('minute')).length;
    expect(await look(2.01, 200)).to.deep.equal([0, 1, 2, 202]);
    expect(await look(2.02, -300)).to.deep.equal([-298, 0, 1, 2, 202]);
    expect((await buckets('minute')).length).to.be.at.least(minutes);
    expect(await look(2.9)).to.deep.equal([-298, 0, 1, 2, 2, 202]);
    // One a night of so few.
    expect(await look(4)).to.deep.equal([0, 1, 2, 2, 4, 202]);
    expect(await look(5.1)).to.deep.equal([0, 1, 2, 2, 4, 5]);
    expect((await buckets('minute')).map(({ at }) => Math.floor((at - noon) / dayMs))).to.deep.equal([5]);
  });

  it('go on where the store was replaced by an older copy', async () => {
    await send(noon, 1_500);
    nowMs = noon + minuteMs;
    await record();
    await kit.store.transaction('lose', (tx) =>
      tx.run("UPDATE store_info SET value=? WHERE name='figures'", ['{"attemptId":4000000,"lineId":4000000}']),
    );
    await record();
    await send(nowMs, 1_500);
    nowMs += minuteMs;
    await record();
    expect((await buckets('hour'))[0]?.delivered).to.equal(2);
  });

  it('are read as points, without any where nothing counted', async () => {
    await send(noon, 1_500);
    nowMs = noon + 30 * minuteMs;
    await record();
    const { points, all } = await kit.store.read('read', (tx) => readSeries(tx, 'day', nowMs, 'UTC'));
    expect(points).to.have.length(96);
    expect(
      points.filter(({ delivered }) => delivered !== null).map(({ at, delivered }) => [at, delivered]),
    ).to.deep.equal([
      [noon, 1],
      [nowMs, 0],
    ]);
    expect(all).to.include({ delivered: 1, waiting: 0, halfS: 1.5 });
    const none = await kit.store.read('read', (tx) => readSeries(tx, 'week', noon + 30 * 24 * hourMs, 'UTC'));
    expect(none.all).to.equal(null);
  });
});
