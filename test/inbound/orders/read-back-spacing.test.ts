import { expect } from 'chai';
import fc from 'fast-check';
import { readBackSpacingMs } from '../../../src/inbound/orders/read-back.js';

describe('the pace of reading orders back', () => {
  it('keeps to its share of every limit', () => {
    const limits = [
      { requests: 50, perSeconds: 1 },
      { requests: 10_000, perSeconds: 86_400 },
    ];
    expect(readBackSpacingMs(limits.slice(0, 1), 0.05)).to.equal(400);
    expect(readBackSpacingMs(limits, 0.05)).to.equal(172_800);
    const limit = fc.record({
      requests: fc.integer({ min: 1, max: 100_000 }),
      perSeconds: fc.integer({ min: 1, max: 86_400 }),
    });
    fc.assert(
      fc.property(
        fc.array(limit, { minLength: 1, maxLength: 5 }),
        fc.double({ min: 0.001, max: 0.5, noNaN: true }),
        (some, share) => {
          const spacing = readBackSpacingMs(some, share);
          for (const { requests, perSeconds } of some)
            expect((perSeconds * 1000) / spacing).to.be.at.most(requests * share * 1.000001);
        },
      ),
    );
  });

  it('is one a second where no limit is known', () => {
    expect(readBackSpacingMs([], 0.5)).to.equal(1_000);
  });
});
