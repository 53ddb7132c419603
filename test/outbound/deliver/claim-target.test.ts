import { expect } from 'chai';
import fc from 'fast-check';
import { claimTarget, mostUnsettled } from '../../../src/outbound/deliver/lane-keeper.js';

describe('how many messages are claimed at once', () => {
  const given = (sentInLastSecond: number, ...limits: [number, number][]) =>
    claimTarget(
      { concurrency: undefined, limits: limits.map(([requests, perSeconds]) => ({ requests, perSeconds })) },
      sentInLastSecond,
      125,
    );
  const of = (...limits: [number, number][]) => given(10_000, ...limits);

  it('is what leaves within a second, and at least as many as are under way at once', () => {
    expect(of([10, 1])).to.equal(16);
    expect(of([200, 1])).to.equal(200);
    expect(of([3_000, 1])).to.equal(500);
  });

  it('is what left in the last second where no limit says so, and enough to begin with', () => {
    expect(given(0)).to.equal(32);
    expect(given(170)).to.equal(170);
    expect(given(3_000)).to.equal(500);
    // A service that answers slowly does not use its limit.
    expect(given(20, [200, 1])).to.equal(200);
  });

  it('leaves no more without an outcome on record than the limit lets go within a second', () => {
    const most = (...limits: [number, number][]) =>
      mostUnsettled({ limits: limits.map(([requests, perSeconds]) => ({ requests, perSeconds })) }, 125);
    expect(most([200, 1])).to.equal(200);
    expect(most([3_000, 1])).to.equal(500);
    expect(most()).to.equal(500);
    expect(most([200, 1], [10_000, 86_400])).to.equal(200);
  });

  it('is no more than a hundredth of a limit of hours or days, unless its own pace needs more', () => {
    expect(of([200, 1], [1_300, 86_400])).to.equal(13);
    expect(of([20, 86_400])).to.equal(2);
    expect(of([10_000, 86_400])).to.equal(16);
    expect(of([200, 1], [1_000_000, 86_400])).to.equal(200);
    expect(of([600, 60])).to.equal(16);
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
