import { expect } from 'chai';
import fc from 'fast-check';
import { agrees, priceFor, times } from '../../../src/erp/mapping/line-price.js';
import type { FieldPlan } from '../../../src/erp/mapping/map-field.js';
import { mapOrder, type OrderMapping } from '../../../src/erp/mapping/map-records.js';
import { parseDecimal } from '../../../src/erp/mapping/money.js';
import { decimalText } from '../../../src/model/minor-units.js';
import { problemsInWords } from '../problems-in-words.js';

const field = (name: string, column: string, type: FieldPlan['type']): FieldPlan => {
  return { name, source: { column, kind: 'text' }, type, optional: false, isRequired: true };
};
const price = field('price', 'price', 'amount');
const base: OrderMapping = {
  timeZone: 'Europe/Berlin',
  scale: 2,
  rounding: 'refuse',
  fields: [{ ...field('customer_code', '', 'text'), source: { constant: 'K' } }],
  lineFields: [field('sku', 'item', 'text'), field('qty', 'qty', 'integer')],
  amount: field('amount', 'net', 'amount'),
  total: 'total',
};

type Row = Record<string, string | null>;
const line = (qty: string, net: string | null, more: Row = {}): Row => ({ item: 'A', qty, net, ...more });

function read(lines: Row[], change: Partial<OrderMapping> = {}, row: Row = {}) {
  const order = { sourceKey: '1', number: null, row, lines, customer: { found: 'not-needed' as const } };
  const { content, totals } = mapOrder(order, { ...base, ...change });
  return { sent: content.mapped ? content.record.items : problemsInWords(content), totals };
}
const map = (lines: Row[], change: Partial<OrderMapping> = {}): unknown => read(lines, change).sent;
const withPrice = { lineFields: [...base.lineFields, price] };

describe('the amount of a line', () => {
  it('gives the price where a whole one comes to it', () => {
    expect(map([line('3', '25.50'), line('2', '-7.00'), line('5', '0')])).to.deep.equal([
      { sku: 'A', qty: 3, price: 850 },
      { sku: 'A', qty: 2, price: -350 },
      { sku: 'A', qty: 5, price: 0 },
    ]);
  });

  it('that no whole price comes to is refused with both figures', () => {
    expect(map([line('3', '10.00')])).to.equal(
      'line 1: no price comes to net 10.00: 3 × 3.33 is 9.99. Name a SKU for the difference in ' +
        'orders.lines.rounding, or correct it in the ERP.',
    );
  });

  it('is met by one more line where a SKU is stated for it, and the totals say so', () => {
    const { sent, totals } = read([line('3', '10.00'), line('3', '5.00')], { roundingSku: 'R' }, { total: '15.00' });
    expect(sent).to.deep.equal([
      { sku: 'A', qty: 3, price: 333 },
      { sku: 'A', qty: 3, price: 167 },
    ]);
    expect(totals).to.deep.equal({ lines: '1500', header: '1500' });
    expect(map([line('3', '10.00'), line('2', '1.00')], { roundingSku: 'R' })).to.deep.equal([
      { sku: 'A', qty: 3, price: 333 },
      { sku: 'A', qty: 2, price: 50 },
      { sku: 'R', qty: 1, price: 1 },
    ]);
    expect(map([line('3', '-10.00')], { roundingSku: 'R' })).to.deep.include({ sku: 'R', qty: 1, price: -1 });
  });

  it('is met by the same line where each line was rounded by itself, and nothing else is', () => {
    const taken = { roundingSku: 'R', rounding: 'half-up' } as const;
    const unrounded = [line('1', '20.475'), line('1', '40.945'), line('1', '0.0048')];
    const { sent, totals } = read(unrounded, taken, { total: '61.4248' });
    expect(totals).to.deep.equal({ lines: '6142', header: '6142' });
    expect(sent).to.deep.include({ sku: 'R', qty: 1, price: -1 });
    expect(read(unrounded, { ...taken, roundingSku: undefined }, { total: '61.4248' }).totals).to.deep.equal({
      lines: '6143',
      header: '6142',
    });
    // A cent in one line is no rounding, nor are two in three lines.
    expect(read([line('1', '5.00')], taken, { total: '5.01' }).totals).to.deep.equal({ lines: '500', header: '501' });
    expect(read(unrounded, taken, { total: '61.41' }).totals).to.deep.equal({ lines: '6143', header: '6141' });
  });

  it('adds up to the order’s total wherever the exact amounts do and a SKU is stated for the rest', () => {
    const mills = fc.array(fc.integer({ min: -30_000, max: 30_000 }), { minLength: 1, maxLength: 9 });
    fc.assert(
      fc.property(mills, fc.constantFrom('half-up', 'half-even'), fc.boolean(), (amounts, rounding, isExact) => {
        const off = isExact ? 0 : 1_000 * amounts.length;
        const total = (amounts.reduce((sum, one) => sum + one, 0) + off) / 1_000;
        const lines = amounts.map((one) => line('1', (one / 1_000).toFixed(3)));
        const { totals } = read(lines, { roundingSku: 'R', rounding }, { total: total.toFixed(3) });
        const difference = Number(totals?.header) - Number(totals?.lines);
        if (!isExact) expect(difference).not.to.equal(0);
        // Half-even may take half a unit from each line and from the total as well.
        else if (rounding === 'half-up') expect(difference).to.equal(0);
        else expect(Math.abs(difference) === 0 || Math.abs(difference) > amounts.length / 2).to.equal(true);
      }),
    );
  });

  it('beside a price has to tell the same, as far as the ERP may have rounded', () => {
    expect(map([line('8', '8.96', { price: '1.1200' })], withPrice)).to.deep.equal([{ sku: 'A', qty: 8, price: 112 }]);
    expect(map([line('3', '9.99', { price: '3.3333' })], withPrice)).to.deep.equal([{ sku: 'A', qty: 3, price: 333 }]);
    expect(map([line('2', '18.00', { price: '10.00' })], withPrice)).to.include(
      '2 × price "10.00" does not come to net 18.00',
    );
    expect(map([line('2', '18.00', { price: 'x' })], withPrice)).to.include('does not come to net 18.00');
    expect(map([line('2', '18.00', { price: null })], withPrice)).to.deep.equal([{ sku: 'A', qty: 2, price: 900 }]);
  });

  it('that is missing, or has too many decimals, parks the order', () => {
    expect(map([line('2', null)])).to.equal('line 1: net is empty. Correct it in the ERP.');
    expect(map([line('2', '1.005')])).to.include('net 1.005 has more than 2 decimals');
    expect(map([line('0', '1.00')])).to.include('qty 0 is not a positive quantity');
  });

  it('keeps a text line that has one from being skipped', () => {
    const text = (net: string) => map([line('1', '2.00'), line('0', net, { item: null })], { textLines: 'skip' });
    expect(text('0.00')).to.deep.equal([{ sku: 'A', qty: 1, price: 200 }]);
    expect(text('5.00')).to.include('line 2: item is empty');
  });

  it('is what the items add up to, whatever the lines', () => {
    const lines = fc.array(fc.tuple(fc.integer({ min: 1, max: 10_000 }), fc.integer({ min: -1e9, max: 1e9 })), {
      minLength: 1,
      maxLength: 6,
    });
    fc.assert(
      fc.property(lines, fc.boolean(), (given, hasSku) => {
        const rows = given.map(([qty, net]) => line(`${qty}`, decimalText(BigInt(net), 2)));
        const sent = map(rows, hasSku ? { roundingSku: 'R' } : {});
        const isExact = given.every(([qty, net]) => net % qty === 0);
        expect(typeof sent === 'string').to.equal(!hasSku && !isExact);
        if (typeof sent === 'string') return;
        const items = sent as { sku: string; qty: number; price: number }[];
        const total = items.reduce((sum, { qty, price: each }) => sum + qty * each, 0);
        expect(total).to.equal(given.reduce((sum, [, net]) => sum + net, 0));
      }),
    );
  });

  it('has the nearest price, and a rest of half the quantity at most', () => {
    const amounts = fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n });
    fc.assert(
      fc.property(fc.bigInt({ min: 1n, max: 10n ** 9n }), amounts, (qty, amount) => {
        const { price: each, rest } = priceFor(qty, amount);
        expect(qty * each + rest).to.equal(amount);
        expect(2n * (rest < 0n ? -rest : rest) <= qty).to.equal(true);
      }),
    );
  });

  it('agrees with the price that it was made from, and not with one that is a whole unit off', () => {
    const cents = fc.bigInt({ min: -(10n ** 9n), max: 10n ** 9n });
    fc.assert(
      fc.property(fc.bigInt({ min: 1n, max: 1000n }), cents, (qty, unit) => {
        const decimal = parseDecimal(decimalText(unit, 2));
        if (decimal === null) throw new Error('no decimal');
        const quantity = { digits: qty, exponent: 0 };
        const product = times(quantity, decimal);
        expect(agrees(quantity, product, qty * unit, 2)).to.equal(true);
        expect(agrees(quantity, product, qty * unit + qty + 1n, 2)).to.equal(false);
      }),
    );
  });
});
