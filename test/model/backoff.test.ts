import { expect } from 'chai';
import fc from 'fast-check';
import { backoffMs } from '../../src/model/backoff.js';

const settings = { baseMs: 2_000, maxMs: 900_000 };
const almostOne = 1 - Number.EPSILON;

describe('the wait between two attempts', () => {
  it('doubles its ceiling with every failure until the longest wait', () => {
    const ceilings = [1, 2, 3, 4, 9, 10, 11].map((failures) => backoffMs(failures, settings, almostOne));
    expect(ceilings).to.deep.equal([2_000, 4_000, 8_000, 16_000, 512_000, 900_000, 900_000]);
  });

  it('is spread over the whole ceiling, so that many messages do not come back together', () => {
    expect(backoffMs(4, settings, 0.25)).to.equal(4_000);
    expect(backoffMs(4, settings, 0.75)).to.equal(12_000);
  });

  it('is never nothing, whatever the dice say', () => {
    expect(backoffMs(7, settings, 0)).to.equal(200);
  });

  it('stays within its bounds for any settings and any number of failures', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
        fc.integer({ min: 10, max: 86_400_000 }),
        fc.integer({ min: 10, max: 86_400_000 }),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (failures, baseMs, maxMs, random) => {
          const wait = backoffMs(failures, { baseMs, maxMs }, random);
          expect(Number.isSafeInteger(wait), 'an integer').to.equal(true);
          expect(wait).to.be.at.least(Math.min(1, maxMs));
          expect(wait).to.be.at.most(maxMs);
          expect(wait).to.be.at.least(Math.floor(Math.min(baseMs / 10, maxMs)));
        },
      ),
    );
  });

  it('does not grow shorter with more failures', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 100 }),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (failures, random) => {
          expect(backoffMs(failures + 1, settings, random)).to.be.at.least(backoffMs(failures, settings, random));
        },
      ),
    );
  });
});
