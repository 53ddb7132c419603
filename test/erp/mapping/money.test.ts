import { expect } from 'chai';
import fc from 'fast-check';
import { isSafe, parseDecimal, plainScaled, type Rounding, toScaledInteger } from '../../../src/erp/mapping/money.js';
import { currencyScale } from '../../../src/model/currencies.js';

function minor(text: string, scale: number, rounding: Rounding = 'refuse'): bigint | null {
  const decimal = parseDecimal(text);
  if (decimal === null) throw new Error(`${text} was not read as a number`);
  return toScaledInteger(decimal, scale, rounding);
}

/** digits/10^places × 10^scale as a fraction of two integers, rounded by comparing twice the rest: written the long way. */
function oracle(digits: bigint, places: number, scale: number, rounding: Rounding): bigint | null {
  const numerator = (digits < 0n ? -digits : digits) * 10n ** BigInt(scale);
  const denominator = 10n ** BigInt(places);
  const floor = numerator / denominator;
  const below = numerator - floor * denominator;
  const above = (floor + 1n) * denominator - numerator;
  let rounded = floor;
  if (below !== 0n) {
    if (rounding === 'refuse') return null;
    if (above < below) rounded = floor + 1n;
    else if (above === below && (rounding === 'half-up' || floor % 2n === 1n)) rounded = floor + 1n;
  }
  return digits < 0n ? -rounded : rounded;
}

function plainText(digits: bigint, places: number): string {
  const all = (digits < 0n ? -digits : digits).toString().padStart(places + 1, '0');
  const text = places === 0 ? all : `${all.slice(0, -places)}.${all.slice(-places)}`;
  return digits < 0n ? `-${text}` : text;
}

const decimals = fc.record({
  digits: fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }),
  places: fc.integer({ min: 0, max: 12 }),
  scale: fc.integer({ min: 0, max: 6 }),
});
const roundings = fc.constantFrom<Rounding>('refuse', 'half-up', 'half-even');

describe('amounts', () => {
  it('become integers exactly, where a float would not', () => {
    expect(minor('19.99', 2)).to.equal(1999n);
    expect(minor('1.005', 3)).to.equal(1005n);
    expect(minor('0.07', 2)).to.equal(7n);
    expect(minor('90071992547409.93', 2)).to.equal(9007199254740993n);
    expect(minor('19.9900', 2)).to.equal(1999n);
    expect(minor('-5', 2)).to.equal(-500n);
  });

  it('with more decimals than the scale are refused, or rounded as configured', () => {
    expect(minor('1.005', 2)).to.equal(null);
    expect(minor('1.005', 2, 'half-up')).to.equal(101n);
    expect(minor('1.005', 2, 'half-even')).to.equal(100n);
    expect(minor('1.015', 2, 'half-even')).to.equal(102n);
    expect(minor('-1.005', 2, 'half-up')).to.equal(-101n);
    expect(minor('-1.005', 2, 'half-even')).to.equal(-100n);
    expect(minor('1.0049999', 2, 'half-up')).to.equal(100n);
  });

  it('that are written plainly need no BigInt, and come to the same', () => {
    const plain = (text: string, scale = 2) => plainScaled(text, scale);
    expect(plain('19.99')).to.equal(1999);
    expect(plain('-5')).to.equal(-500);
    expect(plain('19.9900')).to.equal(1999);
    expect(plain('-0.00')).to.equal(0);
    expect(plain('7.', 0)).to.equal(7);
    expect(plain('9999999999999.99')).to.equal(999_999_999_999_999);
    // The exact way decides: they are too long for a double, are to be rounded or refused, or are written another way.
    for (const text of [
      '10000000000000.00',
      '1.005',
      '',
      '-',
      '.',
      '.5',
      '1e3',
      '+1',
      ' 1',
      '1,5',
      '1.2.3',
      '--1',
      '١',
    ])
      expect(plain(text), text).to.equal(null);
    const texts = fc.oneof(
      decimals.map(({ digits, places }) => plainText(digits, places)),
      fc
        .record({ digits: fc.bigInt({ min: -(10n ** 9n), max: 10n ** 9n }), places: fc.nat(6) })
        .map(({ digits, places }) => plainText(digits, places)),
      fc.stringMatching(/^[-+. 0-9eE]{0,9}$/),
    );
    fc.assert(
      fc.property(texts, fc.nat(6), (text, scale) => {
        const value = plainScaled(text, scale);
        if (value !== null) expect(minor(text, scale)).to.equal(BigInt(value));
      }),
    );
  });

  it('are read from the exponents in which doubles are written', () => {
    expect(minor('1e-7', 7)).to.equal(1n);
    expect(minor('1.5e+3', 2)).to.equal(150000n);
    expect(minor('1E21', 0)).to.equal(10n ** 21n);
    expect(minor('.5', 1)).to.equal(5n);
    expect(minor('5.', 0)).to.equal(5n);
  });

  it('are not guessed from what is no number', () => {
    for (const text of ['', '.', '1,50', '1.234,50', 'EUR 5', '0x10', 'NaN', 'Infinity', '1e', '--1', '1 000']) {
      expect(parseDecimal(text), text).to.equal(null);
    }
  });

  it('agree with an independent calculation, whatever digits, scale and rounding', () => {
    fc.assert(
      fc.property(decimals, roundings, ({ digits, places, scale }, rounding) => {
        expect(minor(plainText(digits, places), scale, rounding)).to.equal(oracle(digits, places, scale, rounding));
      }),
    );
  });

  it('are the same with an exponent as without', () => {
    fc.assert(
      fc.property(decimals, roundings, ({ digits, places, scale }, rounding) => {
        expect(minor(`${digits}e-${places}`, scale, rounding)).to.equal(
          minor(plainText(digits, places), scale, rounding),
        );
      }),
    );
  });

  it('are safe up to what JSON carries exactly', () => {
    expect(isSafe(9007199254740991n)).to.equal(true);
    expect(isSafe(9007199254740992n)).to.equal(false);
    expect(isSafe(-9007199254740992n)).to.equal(false);
  });
});

describe('the scale of a currency', () => {
  it('is the exponent of ISO 4217, not the habit of display that Intl has', () => {
    const scales = ['EUR', 'JPY', 'TND', 'HUF', 'IQD', 'CLF', 'ISK'].map(currencyScale);
    expect(scales).to.deep.equal([2, 0, 3, 2, 3, 4, 0]);
  });

  it('is unknown for a code that nobody knows', () => {
    expect(currencyScale('XYZ')).to.equal(null);
  });
});
