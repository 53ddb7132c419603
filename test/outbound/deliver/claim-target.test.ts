import { expect } from 'chai';
import fc from 'fast-check';
import { claimTarget } from '../../../src/outbound/deliver/due-messages.js';

describe('how many messages are claimed at once', () => {
  const of = (...limits: [number, number][]) =>
    claimTarget({
      concurrency: undefined,
      limits: limits.map(([requests, perSeconds]) => ({ requests, perSeconds })),
    });

  it('is what leaves within three seconds', () => {
    expect(of()).to.equal(256);
    expect(of([10, 1])).to.equal(30);
    expect(of([1_000, 1])).to.equal(500);
  });

  it('is no more than a hundredth of a limit of hours or days, unless its own pace needs more', () => {
    expect(of([200, 1], [1_300, 86_400])).to.equal(13);
    expect(of([20, 86_400])).to.equal(2);
    expect(of([10_000, 86_400])).to.equal(16);
    expect(of([200, 1], [1_000_000, 86_400])).to.equal(500);
    expect(of([600, 60])).to.equal(30);
  });

  it('always keeps requests going, and never grows by a further long limit', () => {
    const limit = fc.tuple(fc.integer({ min: 1, max: 1_000_000 }), fc.integer({ min: 1, max: 2_678_400 }));
    fc.assert(
      fc.property(
        limit,
        limit.map(([requests, s]): [number, number] => [requests, s + 10]),
        (one, long) => {
          expect(of(one)).to.be.within(2, 500);
          // A further limit that is the one with the shortest window sets the pace instead.
          if (long[1] > one[1]) expect(of(one, long)).to.be.within(2, of(one));
        },
      ),
    );
  });
});
