import { expect } from 'chai';
import fc from 'fast-check';
import type { JsonValue } from '../../../src/model/record.js';
import { composePatch, composeUpdate } from '../../../src/outbound/outbox/compose-update.js';

type Fields = { [name: string]: JsonValue };

const name = fc.constantFrom('name', 'city', 'note', 'items', 'constructor', 'toString', '__proto__', 'hasOwnProperty');
const value = fc.oneof(
  fc.constantFrom<JsonValue>(null, '', 'Köln', 0, 1, false, [], {}),
  fc.array(fc.record({ sku: fc.constantFrom('A', 'B'), qty: fc.nat(2) })),
  fc.dictionary(name, fc.nat(2)),
);
/** As the store gives them: parsed from JSON, so that a field may be called `__proto__`. */
const fields = fc
  .array(fc.tuple(name, value), { maxLength: 6 })
  .map((entries): Fields => JSON.parse(JSON.stringify(Object.fromEntries(entries))));

/** A service's handling of a PATCH: it sets the fields that are named. */
function applied(base: Fields, patch: Fields | null): Fields {
  return Object.fromEntries([...Object.entries(base), ...Object.entries(patch ?? {})]);
}

/** A field that was cleared reads null; for the record that is the same as a field that it does not have. */
function withoutNulls(record: Fields): [string, JsonValue][] {
  return Object.entries(record)
    .filter(([, part]) => part !== null)
    .sort(([a], [b]) => (a < b ? -1 : 1));
}

describe('the body of an update', () => {
  it('holds the fields that differ, and null for those that are gone', () => {
    const before = { name: 'Müller', city: 'Köln', email: 'a@example.com', street: 'Am Hof 1' };
    const after = { name: 'Müller', city: 'Bonn', street: 'Am Hof 1', phone: '1' };
    expect(composePatch(before, after)).to.deep.equal({ city: 'Bonn', phone: '1', email: null });
  });

  it('is the whole record for a PUT, which would clear what it leaves out', () => {
    const before = { name: 'Müller', city: 'Köln' };
    const after = { name: 'Müller', city: 'Bonn' };
    expect(composeUpdate('PUT', before, after)).to.deep.equal({ method: 'PUT', body: after });
    expect(composeUpdate('PATCH', before, after)).to.deep.equal({ method: 'PATCH', body: { city: 'Bonn' } });
  });

  it('leaves the service with what is wanted, and with nothing else, whatever the method', () => {
    fc.assert(
      fc.property(fields, fields, fc.constantFrom('PUT' as const, 'PATCH' as const), (before, after, method) => {
        const update = composeUpdate(method, before, after);
        const replaced = update?.body ?? before;
        const result = method === 'PUT' ? replaced : applied(before, update?.body ?? null);
        expect(withoutNulls(result)).to.deep.equal(withoutNulls(after));
      }),
    );
  });

  it('sends a list whole when one of its parts differs', () => {
    const items = [
      { sku: 'A', qty: 1, price: 100 },
      { sku: 'B', qty: 2, price: 50 },
    ];
    const changed = [items[0] as Fields, { ...items[1], qty: 3 }];
    expect(composePatch({ items, note: 'x' }, { items: changed, note: 'x' })).to.deep.equal({ items: changed });
  });

  it('holds every field when nobody knows what was acknowledged', () => {
    expect(composePatch(null, { a: 1, b: null })).to.deep.equal({ a: 1, b: null });
  });

  it('takes away what a record may lack when nobody knows whether the service has it', () => {
    expect(composePatch(null, { a: 1, b: 2 }, ['b', 'c'])).to.deep.equal({ a: 1, b: 2, c: null });
    expect(composePatch({ a: 1 }, { a: 2 }, ['b', 'c'])).to.deep.equal({ a: 2 });
    expect(composeUpdate('PUT', null, { a: 1 }, ['c'])).to.deep.equal({ method: 'PUT', body: { a: 1 } });
  });

  it('takes the order of names for no difference', () => {
    expect(composePatch({ a: { x: 1, y: 2 }, b: 1 }, { b: 1, a: { y: 2, x: 1 } })).to.equal(null);
  });

  it('makes of what was acknowledged what is wanted', () => {
    fc.assert(
      fc.property(fields, fields, (acknowledged, wanted) => {
        const patch = composePatch(acknowledged, wanted);
        expect(withoutNulls(applied(acknowledged, patch))).to.deep.equal(withoutNulls(wanted));
      }),
      { numRuns: 500 },
    );
  });

  it('is null for equal records, and only where nothing would change', () => {
    fc.assert(
      fc.property(fields, fields, (acknowledged, wanted) => {
        expect(composePatch(acknowledged, structuredCloneOf(acknowledged))).to.equal(null);
        if (composePatch(acknowledged, wanted) === null)
          expect(withoutNulls(acknowledged)).to.deep.equal(withoutNulls(wanted));
      }),
    );
  });

  it('names no field that is already as it should be', () => {
    fc.assert(
      fc.property(fields, fields, (acknowledged, wanted) => {
        for (const [field, part] of Object.entries(composePatch(acknowledged, wanted) ?? {})) {
          if (Object.hasOwn(acknowledged, field)) expect(part).to.not.deep.equal(acknowledged[field]);
        }
      }),
    );
  });
});

function structuredCloneOf(record: Fields): Fields {
  return JSON.parse(JSON.stringify(record));
}
