import { expect } from 'chai';
import fc from 'fast-check';
import type { TextLines } from '../../../src/erp/mapping/line-price.js';
import type { FieldPlan } from '../../../src/erp/mapping/map-field.js';
import { mapOrder, type OrderMapping } from '../../../src/erp/mapping/map-records.js';
import { problemsInWords } from '../problems-in-words.js';

type Row = Record<'item' | 'qty' | 'price' | 'words', string | null>;

const field = (name: string, column: string, type: FieldPlan['type'] = 'text', optional = false): FieldPlan => {
  return { name, source: { column, kind: 'text' }, type, optional };
};
const mapping: OrderMapping = {
  timeZone: 'Europe/Berlin',
  scale: 2,
  rounding: 'half-up',
  fields: [],
  lineFields: [
    field('sku', 'item'),
    field('qty', 'qty', 'integer'),
    field('price', 'price', 'amount'),
    field('words', 'words', 'text', true),
  ],
  total: null,
};

/** The items of an order with these lines, or why it is parked. */
function map(lines: Row[], textLines?: TextLines): unknown {
  const order = { sourceKey: '1', number: null, row: {}, lines, customer: { found: 'not-needed' as const } };
  const withCode = { ...mapping, textLines, fields: [{ ...field('customer_code', ''), source: { constant: 'K' } }] };
  const { content } = mapOrder(order, withCode);
  return content.mapped ? content.record.items : problemsInWords(content);
}

const product: Row = { item: 'A', qty: '2', price: '10.50', words: null };
const note: Row = { item: null, qty: '0', price: null, words: 'Deliver at noon' };
const sold = { sku: 'A', qty: 2, price: 1050 };

describe('a line that is a text', () => {
  it('parks its order unless a setting says what becomes of it', () => {
    expect(map([product, note]))
      .to.include('line 2: item is empty')
      .and.include('line 2: price is empty');
  });

  it('is skipped where it has neither SKU nor price', () => {
    for (const price of [null, '', '0', '0.0000', '-0'])
      expect(map([note, product, { ...note, price }], 'skip')).to.deep.equal([sold]);
    expect(map([{ ...note, item: '  ' }, product], 'skip')).to.deep.equal([sold]);
  });

  it('is never skipped with a price, however small, and never with a SKU', () => {
    for (const price of ['5', '-5', '0.004', 'x'])
      expect(map([product, { ...note, qty: '1000', price }], 'skip'), price).to.include('line 2: item is empty');
    expect(map([product, { ...note, item: 'B' }], 'skip')).to.include('line 2: qty 0 is not a positive quantity');
  });

  it('keeps its place in the count of lines', () => {
    expect(map([note, { ...product, qty: 'two' }], 'skip')).to.include('line 2: qty "two" is not a number');
  });

  it('is not enough for an order', () => {
    expect(map([note], 'skip')).to.equal(
      'it has no lines but texts, which orders.lines.text skips. Add them in the ERP, or cancel the order there.',
    );
  });

  it('is sent under a stated SKU, as one piece at price 0 where it has none of its own', () => {
    const texts = [note, { ...note, qty: '3' }, { ...note, qty: '2', price: '7.00' }, product];
    expect(map(texts, { sku: 'TEXT' })).to.deep.equal([
      { sku: 'TEXT', qty: 1, price: 0, words: 'Deliver at noon' },
      { sku: 'TEXT', qty: 3, price: 0, words: 'Deliver at noon' },
      { sku: 'TEXT', qty: 2, price: 700, words: 'Deliver at noon' },
      sold,
    ]);
    expect(map([{ ...note, price: '7.00' }], { sku: 'TEXT' })).to.include('qty 0 is not a positive quantity');
  });

  it('never takes an amount with it', () => {
    const cell = (...values: (string | null)[]) => fc.constantFrom(...values);
    const row = fc.record({
      item: cell(null, ' ', 'A'),
      qty: cell(null, '0', '1', '3'),
      price: cell(null, '0', '4', '0.01'),
      words: cell(null, 'w'),
    });
    fc.assert(
      fc.property(
        fc.array(row, { minLength: 1, maxLength: 5 }),
        fc.constantFrom('skip' as const, { sku: 'T' }),
        (lines, text) => {
          const items = map(lines, text);
          if (typeof items === 'string') return;
          const total = (items as { qty: number; price: number }[]).reduce(
            (sum, { qty, price }) => sum + qty * price,
            0,
          );
          const due = lines.reduce((sum, { qty, price }) => sum + Number(qty) * Math.round(Number(price) * 100), 0);
          expect(total).to.equal(due);
        },
      ),
    );
  });
});
