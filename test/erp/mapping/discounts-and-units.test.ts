import { expect } from 'chai';
import fc from 'fast-check';
import type { UnitPlan } from '../../../src/erp/mapping/line-price.js';
import { shareLeft } from '../../../src/erp/mapping/line-price.js';
import type { FieldPlan } from '../../../src/erp/mapping/map-field.js';
import { mapOrder, type OrderMapping } from '../../../src/erp/mapping/map-records.js';
import { decimalText } from '../../../src/model/minor-units.js';
import { problemsInWords } from '../problems-in-words.js';

const field = (name: string, column: string, type: FieldPlan['type'], optional = false): FieldPlan => {
  return { name, source: { column, kind: 'text' }, type, optional, isRequired: true };
};
const base: OrderMapping = {
  timeZone: 'Europe/Berlin',
  scale: 2,
  rounding: 'half-up',
  fields: [{ ...field('customer_code', '', 'text'), source: { constant: 'K' } }],
  lineFields: [field('sku', 'item', 'text'), field('qty', 'qty', 'integer'), field('price', 'price', 'amount')],
  total: null,
};
const discountOf = (type: 'percent' | 'fraction'): OrderMapping['discount'] => {
  return { field: field('discount', 'off', 'amount', true), type };
};
const percent = { discount: discountOf('percent') };
const grams: UnitPlan = {
  column: 'uom',
  factors: new Map([
    ['kg', 1000n],
    ['pc', 1n],
  ]),
};

type Row = Record<string, string | null>;
const line = (qty: string | null, price: string | null, more: Row = {}): Row => ({ item: 'A', qty, price, ...more });

/** The items of an order with these lines, or why it is parked. */
function map(lines: Row[], change: Partial<OrderMapping>): unknown {
  const order = { sourceKey: '1', number: null, row: {}, lines, customer: { found: 'not-needed' as const } };
  const { content } = mapOrder(order, { ...base, ...change });
  return content.mapped ? content.record.items : problemsInWords(content);
}

describe('the discount of a line', () => {
  it('is taken off in percent or as a fraction, exactly', () => {
    const sent = [{ sku: 'A', qty: 1, price: 3116 }];
    // In floating point 33.5 × 0.93 is 31.154999999999998.
    expect(map([line('1', '33.5', { off: '7' })], percent)).to.deep.equal(sent);
    expect(map([line('1', '33.5', { off: '0.07' })], { discount: discountOf('fraction') })).to.deep.equal(sent);
    expect(map([line('4', '10.00', { off: '2.5000' })], percent)).to.deep.equal([{ sku: 'A', qty: 4, price: 975 }]);
    expect(map([line('4', '10.00', { off: '100' })], percent)).to.deep.equal([{ sku: 'A', qty: 4, price: 0 }]);
  });

  it('is none where its column is empty or 0', () => {
    for (const off of [null, '', '0', '0.000'])
      expect(map([line('3', '3.33', { off })], percent)).to.deep.equal([{ sku: 'A', qty: 3, price: 333 }]);
  });

  it('parks the order where it is no share, which shows that the type is wrong', () => {
    expect(map([line('1', '10.00', { off: '7' })], { discount: discountOf('fraction') })).to.equal(
      'line 1: off 7 is no discount between 0 and 1. Correct it in the ERP, or orders.lines.discount.type.',
    );
    for (const off of ['-5', '100.01', '1e3'])
      expect(map([line('1', '10.00', { off })], percent), off).to.include(
        `off ${off} is no discount between 0 and 100`,
      );
    expect(map([line('1', '10.00', { off: 'x' })], percent)).to.include('off "x" is not a number');
  });

  it('that leaves parts of a minor unit is rounded by amounts.rounding, or refused', () => {
    const lines = [line('1', '1.01', { off: '50' })];
    expect(map(lines, percent)).to.deep.equal([{ sku: 'A', qty: 1, price: 51 }]);
    expect(map(lines, { ...percent, rounding: 'half-even' })).to.deep.equal([{ sku: 'A', qty: 1, price: 50 }]);
    expect(map(lines, { ...percent, rounding: 'refuse' })).to.equal(
      'line 1: 1 × price "1.01" less off 50 has more than 2 decimals. Correct it in the ERP, or set amounts.rounding.',
    );
  });

  it('that no whole price comes to is refused with both figures, or gets a rounding line', () => {
    const lines = [line('3', '10.00', { off: '5' }), line('4', '10.05', { off: '5' })];
    expect(map(lines, percent)).to.include(
      'line 2: no price comes to 38.19 (4 × price "10.05" less off 5): 4 × 9.55 is 38.20. Name a SKU',
    );
    expect(map(lines, { ...percent, roundingSku: 'R' })).to.deep.equal([
      { sku: 'A', qty: 3, price: 950 },
      { sku: 'A', qty: 4, price: 955 },
      { sku: 'R', qty: 1, price: -1 },
    ]);
  });

  it('counts where a price and an amount are compared', () => {
    const both = { ...percent, amount: field('amount', 'net', 'amount') };
    expect(map([line('2', '10.00', { off: '10', net: '18.00' })], both)).to.deep.equal([
      { sku: 'A', qty: 2, price: 900 },
    ]);
    expect(map([line('2', '10.00', { off: null, net: '18.00' })], both)).to.include(
      '2 × price "10.00" does not come to net 18.00',
    );
  });

  it('leaves exactly what it does not take', () => {
    const digits = fc.bigInt({ min: 0n, max: 10n ** 8n });
    fc.assert(
      fc.property(digits, fc.integer({ min: 0, max: 8 }), (taken, scale) => {
        const left = shareLeft({ digits: taken, exponent: -scale }, 'percent');
        const one = 10n ** BigInt(scale + 2);
        expect(left).to.deep.equal(taken > one ? null : { digits: one - taken, exponent: -scale - 2 });
      }),
    );
  });
});

describe('a quantity with decimals', () => {
  it('parks its order unless a unit is stated', () => {
    expect(map([line('2.5', '10.00')], {})).to.include('qty 2.5 is not a whole number');
  });

  it('is sent in a smaller unit, at a price that keeps the amount', () => {
    expect(map([line('2.500', '10.00')], { unit: { factor: 1000n } })).to.deep.equal([
      { sku: 'A', qty: 2500, price: 1 },
    ]);
    expect(map([line('2.5', '12.00', { uom: 'kg' }), line('2', '3.00', { uom: ' pc ' })], { unit: grams })).to.include(
      'line 1: no price comes to 30.00 (2.5 × price "12.00"): 2500 × 0.01 is 25.00. Name a SKU',
    );
    expect(map([line('2.5', '12.00', { uom: 'kg' })], { unit: grams, roundingSku: 'R' })).to.deep.equal([
      { sku: 'A', qty: 2500, price: 1 },
      { sku: 'R', qty: 1, price: 500 },
    ]);
  });

  it('is scaled for every line of a unit, whole or not', () => {
    expect(map([line('2', '10.00', { uom: 'kg' }), line('2', '3.00', { uom: 'pc' })], { unit: grams })).to.deep.equal([
      { sku: 'A', qty: 2000, price: 1 },
      { sku: 'A', qty: 2, price: 300 },
    ]);
  });

  it('parks its order where the factor is too small, and where the unit has none', () => {
    expect(map([line('0.0005', '10.00', { uom: 'kg' })], { unit: grams })).to.equal(
      'line 1: 0.0005 kg × 1000 is not a whole quantity. Correct it in the ERP, or the factor in orders.lines.unit.',
    );
    for (const uom of ['KG', '', null])
      expect(map([line('1', '10.00', { uom })], { unit: grams })).to.equal(
        `line 1: uom "${uom ?? ''}" has no factor in orders.lines.unit.factors. Add it there.`,
      );
  });

  it('that is not above zero, no number or too large parks its order', () => {
    const unit = { factor: 1000n };
    expect(map([line('-2.5', '1.00')], { unit })).to.include('qty -2.5 is not a positive quantity');
    expect(map([line('0.000', '1.00')], { unit })).to.include('qty 0.000 is not a positive quantity');
    expect(map([line('two', '1.00')], { unit })).to.include('qty "two" is not a number');
    expect(map([line(null, '1.00')], { unit })).to.include('qty is empty');
    expect(map([line('99999999999999', '1.00')], { unit })).to.include('is not a whole quantity');
    expect(map([line('99999999', '999999999')], { unit: { factor: 1n } })).to.include('too large to be sent exactly');
    expect(map([line('1', null)], { unit })).to.include('price is empty');
  });

  it('takes the price from the amount where the settings name one', () => {
    const change = {
      unit: { factor: 1000n },
      amount: field('amount', 'net', 'amount'),
      lineFields: base.lineFields.slice(0, 2),
    };
    expect(map([line('2.5', null, { net: '25.00' })], change)).to.deep.equal([{ sku: 'A', qty: 2500, price: 1 }]);
  });

  it('is not needed for a text', () => {
    const text = { item: null, qty: null, price: null, uom: null };
    const sold = line('1', '10.00', { uom: 'kg' });
    expect(map([text, sold], { unit: grams, textLines: 'skip' })).to.deep.equal([{ sku: 'A', qty: 1000, price: 1 }]);
    expect(map([text, sold], { unit: grams, textLines: { sku: 'T' } })).to.deep.equal([
      { sku: 'T', qty: 1, price: 0 },
      { sku: 'A', qty: 1000, price: 1 },
    ]);
  });
});

describe('quantity, price, discount and unit together', () => {
  it('come to quantity × price × (1 − discount), rounded once, or are refused', () => {
    const quantity = fc.oneof(
      fc.integer({ min: 1, max: 9_999_999 }),
      fc.integer({ min: 1, max: 999 }).map((qty) => qty * 1000),
    );
    const row = fc.record({
      qty: quantity,
      price: fc.integer({ min: -10_000_000, max: 10_000_000 }),
      off: fc.integer({ min: 0, max: 10_000 }),
      uom: fc.constantFrom('kg', 'pc'),
    });
    const rows = fc.array(row, { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(
        rows,
        fc.constantFrom('refuse' as const, 'half-up' as const),
        fc.boolean(),
        (given, rounding, has) => {
          const lines = given.map(({ qty, price, off, uom }) =>
            line(decimalText(BigInt(qty), 3), decimalText(BigInt(price), 4), { off: decimalText(BigInt(off), 2), uom }),
          );
          const sent = map(lines, { ...percent, unit: grams, rounding, ...(has && { roundingSku: 'R' }) });
          // Worked out in 10^-11 of the currency: three decimals of the quantity, four of the price, four of the share.
          const unit = 10n ** 9n;
          const exact = given.map(({ qty, price, off }) => BigInt(qty) * BigInt(price) * BigInt(10_000 - off));
          const rounded = exact.map((one) => (one < 0n ? -((unit / 2n - one) / unit) : (one + unit / 2n) / unit));
          const counts = given.map(({ qty, uom }) => (uom === 'kg' ? BigInt(qty) : BigInt(qty) / 1000n));
          const canBeSent = given.every(({ qty, uom }, i) => {
            const isWhole = uom === 'kg' || qty % 1000 === 0;
            const isExact = rounding !== 'refuse' || (exact[i] as bigint) % unit === 0n;
            return isWhole && isExact && (has || (rounded[i] as bigint) % (counts[i] as bigint) === 0n);
          });
          expect(typeof sent === 'string', `${sent}`).to.equal(!canBeSent);
          if (typeof sent === 'string') return;
          const items = sent as { sku: string; qty: number; price: number }[];
          expect(items.filter(({ sku }) => sku === 'A').map(({ qty }) => BigInt(qty))).to.deep.equal(counts);
          const total = items.reduce((sum, { qty, price }) => sum + BigInt(qty) * BigInt(price), 0n);
          expect(total).to.equal(rounded.reduce((sum, one) => sum + one, 0n));
        },
      ),
      { numRuns: 500 },
    );
  });
});
