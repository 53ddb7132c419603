import { expect } from 'chai';
import fc from 'fast-check';
import type { JsonValue } from '../../../src/model/record.js';
import { compareRecord, shownNames } from '../../../src/operator/reconcile/compare-record.js';

const order = { customer_code: 'K1', note: 'A-1', items: [{ sku: 'X', qty: 2, price: 150 }] };

const fieldsOf = (wanted: object, shown: object, { optional = [] as string[], before = [] as string[] } = {}) =>
  compareRecord(wanted as never, shown as never, optional, new Set(before));

describe('the comparison of a record with what the service shows', () => {
  it('finds nothing in the same record, whatever the service has besides, in whatever order', () => {
    const shown = { total: 300, items: [{ id: 7, price: 150, qty: 2, sku: 'X' }], note: 'A-1', customer_code: 'K1' };
    expect(fieldsOf(order, shown)).to.deep.equal({ differing: [], unshown: [] });
  });

  it('names each field that differs by its place, lines from 1', () => {
    const items = [{ sku: 'X', qty: 3, price: 150 }];
    expect(fieldsOf(order, { ...order, note: 'A-2', items }).differing).to.deep.equal([
      { field: 'note', erp: 'A-1', service: 'A-2' },
      { field: 'items.1.qty', erp: 2, service: 3 },
    ]);
  });

  it('names the lines as one field where there are more or fewer of them', () => {
    expect(fieldsOf(order, { ...order, items: [] }).differing.map(({ field }) => field)).to.deep.equal(['items']);
  });

  it('takes a field that the service shows elsewhere and not here for empty, and one that it never shows for unknown', () => {
    const shown = { customer_code: 'K1', items: order.items };
    expect(fieldsOf(order, shown)).to.deep.equal({ differing: [], unshown: ['note'] });
    expect(fieldsOf(order, shown, { before: ['note'] })).to.deep.equal({
      differing: [{ field: 'note', erp: 'A-1', service: null }],
      unshown: [],
    });
  });

  it('finds what the service still has where the ERP says nothing any more', () => {
    const shown = { ...order, remark: 'old' };
    expect(fieldsOf(order, shown, { optional: ['remark'] }).differing).to.deep.equal([
      { field: 'remark', erp: null, service: 'old' },
    ]);
    expect(fieldsOf(order, { ...order, remark: '' }, { optional: ['remark'] }).differing).to.be.empty;
  });

  const name = fc.constantFrom('a', 'b', 'c', '__proto__', 'constructor', 'items');
  const scalar = fc.oneof(fc.string({ minLength: 1 }), fc.maxSafeInteger(), fc.boolean());
  const { value } = fc.letrec<{ value: JsonValue }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      scalar,
      fc.array(tie('value'), { minLength: 1, maxLength: 3 }),
      fc.array(fc.tuple(name, tie('value')), { minLength: 1, maxLength: 3 }).map((all) => fromEntries(all)),
    ),
  }));
  const record = fc.array(fc.tuple(name, value), { minLength: 1, maxLength: 5 }).map((all) => fromEntries(all));
  function fromEntries(all: [string, JsonValue][]): { [name: string]: JsonValue } {
    return JSON.parse(`{${[...new Map(all)].map(([key, one]) => `${JSON.stringify(key)}:${JSON.stringify(one)}`)}}`);
  }

  it('finds nothing in a copy, and every single change of one', () => {
    fc.assert(
      fc.property(record, name, scalar, (wanted, field, other) => {
        const copy = JSON.parse(JSON.stringify(wanted));
        expect(fieldsOf(wanted, copy)).to.deep.equal({ differing: [], unshown: [] });
        fc.pre(Object.hasOwn(wanted, field) && wanted[field] !== other);
        const changed = JSON.parse(JSON.stringify(wanted), (key, one) => (key === '' ? one : one));
        Object.defineProperty(changed, field, { value: other, enumerable: true });
        const { differing, unshown } = fieldsOf(wanted, changed);
        expect(unshown).to.be.empty;
        expect(differing.map((one) => one.field)).to.deep.equal([field]);
      }),
    );
  });

  it('names every field of what is shown, so that nothing shown counts as unshown', () => {
    fc.assert(
      fc.property(record, (shown) => {
        const gone = fieldsOf(shown, {}, { before: shownNames(shown) });
        expect(gone.unshown).to.be.empty;
        expect(gone.differing.map(({ field }) => field).sort()).to.deep.equal(Object.keys(shown).sort());
      }),
    );
  });
});
