import { expect } from 'chai';
import { formerFingerprint, mappingFingerprint } from '../../src/outbound/outbox/content-hash.js';
import { merge } from '../support/merge-settings.js';
import { load, pathsOf, problemsOf, removeFolders, validSettings } from './folder.js';

type Given = ReturnType<typeof validSettings>;

/** Settings with these fields of a customer. */
function withFields(fields: object): Given {
  const settings = validSettings();
  return { ...settings, customers: { ...settings.customers, fields: { customer_code: 'code', ...fields } } };
}

describe('a field mapping', () => {
  afterEach(removeFolders);

  for (const [what, fields, path] of [
    ['a cut without a length', { f: { column: 'c', cut: '…' } }, 'customers.fields.f.cut'],
    ['a mark as long as the text', { f: { column: 'c', cut: '...', maxLength: 3 } }, 'customers.fields.f.cut'],
    [
      'a customer code that is cut',
      { customer_code: { column: 'c', cut: '', maxLength: 9 } },
      'customers.fields.customer_code.cut',
    ],
    ['a number in capitals', { f: { column: 'c', type: 'integer', case: 'upper' } }, 'customers.fields.f.case'],
    ['a list that names a column twice', { f: { column: ['c', 'c'] } }, 'customers.fields.f.column'],
    ['otherwise without when', { f: { column: 'c', otherwise: 'x' } }, 'customers.fields.f.otherwise'],
    ['codes of a date', { f: { column: 'c', type: 'date', when: { a: 'b' } } }, 'customers.fields.f.when'],
    ['a length of words', { f: { column: 'c', when: { a: 'b' }, maxLength: 3 } }, 'customers.fields.f.maxLength'],
    [
      'a customer code that is no text',
      { customer_code: { column: 'c', when: { a: 1 } } },
      'customers.fields.customer_code.when',
    ],
    ['an amount in HTML', { f: { column: 'c', type: 'amount', html: 'decode' } }, 'customers.fields.f.html'],
    ['a constant that is trimmed', { f: { constant: 'c', trim: true } }, 'customers.fields.f.trim'],
  ] as const)
    it(`refuses ${what}`, () => {
      expect(pathsOf(problemsOf(withFields(fields)))).to.deep.equal([path]);
    });

  for (const [what, field] of [
    ['what shapes a text', { column: 'c', html: 'strip', trim: true, case: 'upper', maxLength: 30, cut: '…' }],
    ['a column for where another one is empty', ['c', 'd']],
    ['such a column with a type', { column: ['c', 'd'], type: 'date' }],
    ['words for codes', { column: 'c', when: { COD: 'cash', 30: 'net30', '': false }, otherwise: 0 }],
  ] as const)
    it(`takes ${what}, and is another mapping with it`, () => {
      const [without, withIt] = [load(withFields({ f: 'c' })).settings, load(withFields({ f: field })).settings];
      expect(mappingFingerprint(withIt, 'customer')).not.to.equal(mappingFingerprint(without, 'customer'));
      expect(mappingFingerprint(withIt, 'order')).to.equal(mappingFingerprint(without, 'order'));
    });

  it('of lines needs a price or an amount, and an amount for a rounding line', () => {
    const { orders, ...settings } = validSettings();
    const problems = (change: object) =>
      pathsOf(problemsOf({ ...settings, orders: { ...orders, lines: { ...(orders.lines as object), ...change } } }));
    expect(problems({ fields: { sku: 's', qty: 'q' } })).to.deep.equal(['orders.lines.fields.price']);
    expect(problems({ rounding: { sku: 'R' } })).to.deep.equal(['orders.lines.rounding']);
    const discount = { column: 'off', type: 'percent' };
    expect(problems({ discount, amount: 'net', fields: { sku: 's', qty: 'q' } })).to.deep.equal([
      'orders.lines.discount',
    ]);
    expect(problems({ unit: { factor: 0.5 } })).to.deep.equal(['orders.lines.unit.factor']);
  });

  for (const change of [
    { text: 'skip' },
    { text: { sku: 'TEXT' } },
    { amount: 'net', fields: { sku: 's', qty: 'q' } },
    { amount: 'net', rounding: { sku: 'R' } },
    { discount: { column: 'off', type: 'fraction' } },
    { unit: { factor: 1000 }, rounding: { sku: 'R' } },
    { unit: { column: 'uom', factors: { kg: 1000, '': 1 } } },
  ])
    it(`of lines takes ${JSON.stringify(change)}, and is another mapping with it`, () => {
      const settings = validSettings();
      const lines = { ...(settings.orders.lines as object), ...change };
      const both = [settings, { ...settings, orders: { ...settings.orders, lines } }].map((one) => load(one).settings);
      expect(new Set(both.map((one) => mappingFingerprint(one, 'order'))).size).to.equal(2);
    });

  it('of several currencies says where the order has its own, and tells the service', () => {
    const { orders, ...settings } = validSettings();
    const given = (currency: object | undefined, change: object = {}) => ({
      ...settings,
      amounts: { currency: 'EUR', currencies: ['JPY'] },
      invoices: { enabled: false },
      ...change,
      orders: { ...orders, currency, fields: { note: 'remark' } },
    });
    const problems = (...of: Parameters<typeof given>) => pathsOf(problemsOf(given(...of)));
    load(given({ column: 'cur', field: 'currency' }));
    load(given({ column: 'cur' }, { amounts: { currency: 'EUR' } }));
    expect(problems(undefined)).to.deep.equal(['orders.currency']);
    expect(problems({ column: 'cur' })).to.deep.equal(['orders.currency.field']);
    expect(problems({ column: 'cur', field: 'note' })).to.deep.equal(['orders.currency.field']);
    expect(problems({ column: 'cur', field: 'items' })).to.deep.equal(['orders.currency.field']);
    expect(problems({ column: 'cur', field: 'currency' }, { invoices: {} })).to.deep.equal(['invoices.enabled']);
    expect(
      problems({ column: 'cur', field: 'c' }, { amounts: { currency: 'EUR', currencies: ['XYZ'] } }),
    ).to.deep.equal(['amounts.currencies[0]']);
  });

  it('of orders with a currency of their own is another mapping', () => {
    const settings = validSettings();
    const orders = { ...settings.orders, currency: { column: 'cur', field: 'currency' } };
    const both = [settings, { ...settings, orders }].map((one) => mappingFingerprint(load(one).settings, 'order'));
    expect(new Set(both).size).to.equal(2);
  });

  for (const [what, change] of [
    ['names its customer by another column', { orders: { customerKey: 'ship_to' } }],
    ['has its customer from another query', { customers: { query: 'SELECT 1 AS id' } }],
    ['has its customer by another key', { customers: { key: 'no' } }],
  ] as const)
    it(`of an order that ${what} is another mapping`, () => {
      const settings = validSettings();
      const changed = merge(settings, change) as Given;
      const both = [settings, changed].map((one) => mappingFingerprint(load(one).settings, 'order'));
      expect(new Set(both).size).to.equal(2);
    });

  it('that uses none of the optional settings has the fingerprint that it always had', () => {
    const { settings } = load(withFields({ f: { column: 'c', optional: true, maxLength: 3 } }));
    const both = [mappingFingerprint(settings, 'customer'), formerFingerprint(settings, 'order')];
    expect(both.map((hash) => hash.slice(0, 16))).to.deep.equal(['98432e9f13140c97', 'de0f433f1096fa21']);
    expect(mappingFingerprint(settings, 'order').slice(0, 16)).to.equal('503a29ea04642d08');
  });
});
