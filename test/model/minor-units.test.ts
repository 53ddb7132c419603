import { expect } from 'chai';
import fc from 'fast-check';
import { formatAmount } from '../../src/model/minor-units.js';

describe('an amount as people write it', () => {
  for (const [minor, decimals, text] of [
    ['1999', 2, '19.99'],
    ['5', 2, '0.05'],
    ['-500', 2, '-5.00'],
    ['1234567890', 2, '12 345 678.90'],
    ['1999', 0, '1 999'],
    ['1999', 3, '1.999'],
    [0, 2, '0.00'],
  ] as const) {
    it(`${minor} with ${decimals} decimals is ${text}`, () => expect(formatAmount(minor, decimals)).to.equal(text));
  }

  it('loses no digit, whatever the size', () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }),
        fc.integer({ min: 0, max: 6 }),
        (minor, decimals) => {
          const back = BigInt(formatAmount(String(minor), decimals).replace(/[ .]/g, ''));
          expect(back).to.equal(minor);
        },
      ),
    );
  });
});
