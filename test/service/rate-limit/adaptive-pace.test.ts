import { expect } from 'chai';
import fc from 'fast-check';
import { SlidingWindow } from '../../../src/lab/sandbox/rate-limit.js';
import { SeededRandom } from '../../../src/lab/seeded-random.js';
import { faster, firstPace, type Pace, slower } from '../../../src/service/rate-limit/adaptive-pace.js';

/** A service with a limit that nobody told us of, or told us wrongly, asked as often as the pace allows. */
function live(
  limit: { requests: number; windowMs: number },
  minutes: number,
  retryAfterMs: number,
  drawMs: () => number,
  toldPerSecond: number | null = null,
) {
  const window = new SlidingWindow(limit.requests, limit.windowMs);
  let pace = firstPace(toldPerSecond !== null, 0);
  const sent: number[] = [];
  const perMinute = Array.from({ length: minutes }, () => ({ asked: 0, throttled: 0 }));
  for (let now = 0; now < minutes * 60_000; ) {
    const minute = perMinute[Math.floor(now / 60_000)] as (typeof perMinute)[number];
    const countedAt = now + drawMs();
    minute.asked++;
    sent.push(now);
    const lastSecond = sent.filter((at) => at > countedAt - 1000).length;
    while (sent.length > 0 && (sent[0] as number) <= countedAt - 1000) sent.shift();
    const throttled = window.waitMs(countedAt) > 0;
    if (throttled) minute.throttled++;
    else window.take(countedAt);
    pace = throttled
      ? slower(pace, now, lastSecond, toldPerSecond, countedAt)
      : faster(pace, lastSecond, toldPerSecond, countedAt);
    const perSecond = pace.perSecond ?? (toldPerSecond as number);
    now = Math.max(countedAt, now + 1000 / perSecond) + (throttled ? retryAfterMs : 0);
  }
  return perMinute;
}

describe('the pace where no limit is known', () => {
  for (const requests of [1, 5, 30, 200]) {
    it(`uses at least 70 % of ${requests}/s from the second minute on, with under 3 % answers of 429`, () => {
      const random = new SeededRandom(7);
      const drawMs = () => random.below(Math.min(20, 800 / requests));
      const minutes = live({ requests, windowMs: 1000 }, 6, 1000, drawMs).slice(1);
      for (const { asked, throttled } of minutes) {
        expect((asked - throttled) / (requests * 60), 'used').to.be.at.least(0.7);
        expect(throttled / asked, '429').to.be.below(0.03);
      }
    });
  }

  for (const toldPerSecond of [31, 33, 50, 300]) {
    it(`does as well where the limit is said to be ${toldPerSecond}/s and is 30/s`, () => {
      const random = new SeededRandom(7);
      const limit = { requests: 30, windowMs: 1000 };
      const minutes = live(limit, 6, 1000, () => random.below(Math.min(20, 800 / toldPerSecond)), toldPerSecond).slice(
        1,
      );
      for (const { asked, throttled } of minutes) {
        expect((asked - throttled) / (30 * 60), 'used').to.be.at.least(0.7);
        expect(throttled / asked, '429').to.be.below(0.03);
      }
    });
  }

  it('is back at a configured limit within seconds after one answer of 429, and creeps after the next', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 500 }), fc.boolean(), (known, wasIdle) => {
        const gapMs = 1000 / known;
        let now = 100_000;
        const back = (from: Pace): number => {
          let requests = 0;
          for (let pace = from; pace.perSecond !== null; requests++) {
            now += 1000 / pace.perSecond;
            pace = faster(pace, known, known, now);
          }
          return requests;
        };
        const slip = slower(firstPace(true, 0), now, wasIdle ? 0 : known, known, now);
        const began = now;
        back(slip);
        // The pace grows by a tenth a second, or by a fiftieth a request where those are rare; from nine tenths, or
        // from the half.
        const [requests, ms] = wasIdle ? [80, 9_000] : [8, 2_000];
        expect(now - began).to.be.at.most(Math.max(requests * gapMs, ms));

        const again = slower({ ...slip, perSecond: null }, now, known, known, now + 1);
        expect(back(again)).to.be.at.least(50);
        now += 61_000;
        const later = slower({ ...again, perSecond: null }, now, known, known, now);
        expect(later.falls).to.equal(1);
      }),
    );
  });

  it('doubles from 10/s as long as nobody objects', () => {
    let pace = firstPace(false, 0);
    for (let second = 1; second <= 3; second++) pace = faster(pace, 1_000, null, second * 1000);
    expect(pace.perSecond).to.equal(80);
  });

  it('rises only when it is used, and not twice within a second', () => {
    const pace = firstPace(false, 0);
    expect(faster(pace, 3, null, 5_000)).to.equal(pace);
    expect(faster(pace, 10, null, 900)).to.equal(pace);
    const learnt = slower(pace, 0, 10, null, 1_000);
    expect(faster(learnt, 3, null, 5_000)).to.equal(learnt);
  });

  it('falls once for all requests that were under way together', () => {
    const slow = slower(firstPace(false, 0), 10, 10, null, 20);
    expect(slow.perSecond).to.equal(9);
    expect(slower(slow, 15, 10, null, 25)).to.equal(slow);
    expect(slower(slow, 30, 8, null, 40).perSecond).to.be.closeTo(7.2, 1e-9);
  });

  it('is back near where it was too fast within a quarter of a minute, however deep it fell', () => {
    fc.assert(
      fc.property(fc.integer({ min: 10, max: 500 }), (was) => {
        let now = 100_000;
        let pace = slower({ ...firstPace(false, 0), perSecond: was, isLearnt: true }, now, 1, null, now);
        expect(pace.perSecond).to.equal(was / 2);
        while ((pace.perSecond as number) < was * 0.85) {
          now += 1000 / (pace.perSecond as number);
          pace = faster(pace, was, null, now);
        }
        expect(now - 100_000).to.be.below(18_000);
        const near = pace.perSecond as number;
        const next = faster(pace, was, null, now + 1_000 / was).perSecond as number;
        expect(next / near, 'creeps from here on').to.be.at.most(1.0018 + 1e-9);
      }),
    );
  });

  it('falls by half where it was hardly used: one answer of 429 in a quiet hour says little', () => {
    expect(slower(firstPace(true, 0), 10, 1, 50, 20).perSecond).to.equal(25);
    expect(slower(firstPace(false, 0), 10, 1, null, 20).perSecond).to.equal(5);
  });

  it('does not touch a configured limit until the service contradicts it, and returns to it', () => {
    let pace = firstPace(true, 0);
    expect(pace.perSecond).to.equal(null);
    expect(faster(pace, 50, 50, 9_000)).to.equal(pace);
    pace = slower(pace, 10_000, 50, 50, 10_000);
    expect(pace.perSecond).to.equal(45);
    for (let now = 10_020; pace.perSecond !== null && now < 60_000; now += 20) pace = faster(pace, 50, 50, now);
    expect(pace.perSecond).to.equal(null);
  });

  it('is always a pace: above nothing, and with an end', () => {
    const step = fc.record({ throttled: fc.boolean(), lastSecond: fc.nat(2_000), ms: fc.nat(5_000) });
    fc.assert(
      fc.property(fc.boolean(), fc.array(step, { maxLength: 200 }), (known, steps) => {
        let now = 0;
        let pace = firstPace(known, now);
        for (const { throttled, lastSecond, ms } of steps) {
          now += ms;
          pace = throttled
            ? slower(pace, now, lastSecond, known ? 100 : null, now)
            : faster(pace, lastSecond, known ? 100 : null, now);
          if (pace.perSecond !== null) expect(pace.perSecond).to.be.within(1 / 60, 2_000);
        }
      }),
    );
  });
});
