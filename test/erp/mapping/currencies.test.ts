import { expect } from 'chai';
import fc from 'fast-check';
import type { FieldPlan } from '../../../src/erp/mapping/map-field.js';
import { mapOrder, type OrderMapping } from '../../../src/erp/mapping/map-records.js';
import { decimalText } from '../../../src/model/minor-units.js';
import { problemsInWords } from '../problems-in-words.js';

const field = (name: string, column: string, type: FieldPlan['type']): FieldPlan => {
  return { name, source: { column, kind: 'text' }, type, optional: false, isRequired: true };
};
const scales = new Map([
  ['EUR', 2],
  ['JPY', 0],
  ['KWD', 3],
]);
const mapping: OrderMapping = {
  timeZone: 'Europe/Berlin',
  scale: 2,
  rounding: 'refuse',
  fields: [
    { ...field('customer_code', '', 'text'), source: { constant: 'K' } },
    { ...field('freight', 'freight', 'amount'), optional: true },
  ],
  lineFields: [field('sku', 'item', 'text'), field('qty', 'qty', 'integer'), field('price', 'price', 'amount')],
  total: 'total',
  currency: { column: 'cur', field: 'currency', scales },
};

function read(cur: string | null, price: string, row: Record<string, string> = {}, change: Partial<OrderMapping> = {}) {
  const lines = [{ item: 'A', qty: '2', price }];
  const order = {
    sourceKey: '1',
    number: null,
    row: { cur, ...row },
    lines,
    customer: { found: 'not-needed' as const },
  };
  const { content, ...rest } = mapOrder(order, { ...mapping, ...change });
  return { sent: content.mapped ? content.record : problemsInWords(content), ...rest };
}

describe('the currency of an order', () => {
  it('decides the decimals of its amounts, by ISO 4217, and is told to the service', () => {
    for (const [code, price, minor] of [
      ['EUR', '19.99', 1999],
      ['JPY', '1999', 1999],
      ['JPY', '1999.0000', 1999],
      ['KWD', '1.999', 1999],
      [' KWD ', '1.9990', 1999],
    ] as const)
      expect(read(code, price).sent, code).to.deep.equal({
        customer_code: 'K',
        currency: code.trim(),
        items: [{ sku: 'A', qty: 2, price: minor }],
      });
    const { sent, totals, currency } = read('KWD', '1.5', { freight: '0.750', total: '3.000' });
    expect(sent).to.include({ freight: 750 });
    expect({ totals, currency }).to.deep.equal({ totals: { lines: '3000', header: '3000' }, currency: 'KWD' });
  });

  it('has as many decimals as the currency, and no more', () => {
    expect(read('JPY', '19.99').sent).to.include('price 19.99 has more than 0 decimals');
    expect(read('EUR', '1.999').sent).to.include('price 1.999 has more than 2 decimals');
  });

  it('that is not among the settings, or missing, parks the order and nothing is guessed', () => {
    for (const code of ['USD', 'eur', 'EURO', '€'])
      expect(read(code, '1.00').sent).to.equal(
        `cur "${code}" is not among the currencies of the settings (EUR, JPY, KWD). Add it to amounts.currencies, ` +
          'or leave its orders out with orders.pending.',
      );
    for (const code of [null, '', '  '])
      expect(read(code, '1.00').sent).to.equal('cur is empty. Correct it in the ERP.');
    expect(read('USD', '1.00', { total: '2.00' })).to.have.property('totals', null);
  });

  it('is only watched where no field is named for it', () => {
    const watched = { currency: { column: 'cur', field: undefined, scales: new Map([['EUR', 2]]) } };
    expect(read('EUR', '1.00', {}, watched).sent).not.to.have.property('currency');
    expect(read('JPY', '1', {}, watched).sent).to.include('cur "JPY" is not among the currencies');
  });

  it('scales every amount by its own exponent', () => {
    fc.assert(
      fc.property(fc.constantFrom(...scales), fc.bigInt({ min: 0n, max: 10n ** 12n }), ([code, scale], minor) => {
        const { sent } = read(code, decimalText(minor, scale));
        expect(sent).to.have.nested.property('items[0].price', Number(minor));
      }),
    );
  });
});
