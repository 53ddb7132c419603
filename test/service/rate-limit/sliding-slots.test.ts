import { expect } from 'chai';
import fc from 'fast-check';
import { SlidingSlots } from '../../../src/service/rate-limit/sliding-slots.js';

describe('the slots of a limit', () => {
  it('are free again one window after the answer, and at once when nothing was sent', () => {
    const slots = new SlidingSlots({ requests: 2, windowMs: 100 });
    slots.take();
    slots.take();
    expect(slots.waitMs(0)).to.equal(Number.POSITIVE_INFINITY);
    slots.giveBack(30, true);
    expect(slots.waitMs(30)).to.equal(100);
    slots.giveBack(40, false);
    expect(slots.waitMs(40)).to.equal(0);
  });

  it('never let a window of the service hold more than the limit, wherever a request is counted on its way', () => {
    const request = fc.record({
      waitMs: fc.nat(40),
      /** From the slot to the moment in which the service counts it, and on to the answer. */
      thereMs: fc.nat(60),
      backMs: fc.nat(60),
      used: fc.boolean(),
    });
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 6 }),
        fc.integer({ min: 1, max: 200 }),
        fc.array(request, { maxLength: 80 }),
        (requests, windowMs, drawn) => {
          const slots = new SlidingSlots({ requests, windowMs });
          const counted: number[] = [];
          let underWay: { answeredAt: number; used: boolean }[] = [];
          let now = 0;
          const passTo = (until: number) => {
            const answered = underWay.filter(({ answeredAt }) => answeredAt <= until);
            for (const { answeredAt, used } of answered.sort((a, b) => a.answeredAt - b.answeredAt))
              slots.giveBack(answeredAt, used);
            underWay = underWay.filter(({ answeredAt }) => answeredAt > until);
            now = until;
          };
          for (const { waitMs, thereMs, backMs, used } of drawn) {
            passTo(now + waitMs);
            for (let wait = slots.waitMs(now); wait > 0; wait = slots.waitMs(now))
              passTo(Math.min(now + wait, ...underWay.map(({ answeredAt }) => answeredAt)));
            slots.take();
            if (used) counted.push(now + thereMs);
            underWay.push({ answeredAt: now + thereMs + backMs, used });
          }
          counted.sort((a, b) => a - b);
          for (let i = 0; i + requests < counted.length; i++)
            expect((counted[i + requests] as number) - (counted[i] as number)).to.be.at.least(windowMs);
        },
      ),
      { numRuns: 500 },
    );
  });

  it('count what an earlier process sent, also where that was more than the limit', () => {
    const slots = new SlidingSlots({ requests: 2, windowMs: 1_000 });
    slots.recall([100, 200, 300]);
    expect(slots.waitMs(500)).to.equal(700);
    expect(slots.waitMs(1_200)).to.equal(0);
    slots.recall([]);
    expect(slots.waitMs(1_200)).to.equal(0);
  });

  it('keep no more than a window of the past', () => {
    const slots = new SlidingSlots({ requests: 10, windowMs: 10 });
    for (let now = 0; now < 100_000; now++) {
      expect(slots.waitMs(now)).to.be.below(11);
      if (slots.waitMs(now) > 0) continue;
      slots.take();
      slots.giveBack(now, true);
    }
  });
});
