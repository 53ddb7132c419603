import { expect } from 'chai';
import { concurrencyOf } from '../../../src/service/rate-limit/sliding-slots.js';

describe('how many requests are under way at once', () => {
  it('is what is configured, whatever the limits', () => {
    expect(concurrencyOf({ concurrency: 3, limits: [{ requests: 200, perSeconds: 1 }] })).to.equal(3);
  });

  it('is else enough for the limit with the shortest window at answers of half a second', () => {
    const of = (...limits: [number, number][]) =>
      concurrencyOf({
        concurrency: undefined,
        limits: limits.map(([requests, perSeconds]) => ({ requests, perSeconds })),
      });
    expect(of()).to.equal(16);
    expect(of([10, 1])).to.equal(16);
    expect(of([200, 1])).to.equal(100);
    expect(of([200, 1], [1_000_000, 86_400])).to.equal(100);
    expect(of([200, 1], [300, 1])).to.equal(100);
    expect(of([100_000, 1])).to.equal(256);
  });
});
