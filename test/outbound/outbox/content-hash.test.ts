import { expect } from 'chai';
import fc from 'fast-check';
import type { JsonValue } from '../../../src/model/record.js';
import { canonicalJson, sha256 } from '../../../src/outbound/outbox/content-hash.js';

/** JSON as a record holds it: no floats, and -0 is not a number that JSON can tell from 0. */
const json = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(null, true, false),
    fc.maxSafeInteger(),
    fc.string({ unit: 'binary' }),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(fc.string({ maxLength: 8 }), tie('value'), { maxKeys: 6 }),
  ) as fc.Arbitrary<JsonValue>,
})).value;

/** The same value with the names of every object the other way round. */
function reversed(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([name, part]) => [name, reversed(part)]),
  );
}

describe('canonical JSON', () => {
  it('sorts names by code unit at every depth and keeps the order of lists', () => {
    const value = { b: 1, a: [{ z: 'ä', B: null, ä: 2 }, 3, 1], '10': true, '9': false };
    expect(canonicalJson(value)).to.equal('{"10":true,"9":false,"a":[{"B":null,"z":"ä","ä":2},3,1],"b":1}');
  });

  it('gives the same bytes whatever the order in which the fields were mapped', () => {
    fc.assert(
      fc.property(json, (value) => {
        expect(canonicalJson(reversed(value))).to.equal(canonicalJson(value));
      }),
    );
  });

  it('loses nothing, and is its own canonical form', () => {
    fc.assert(
      fc.property(json, (value) => {
        const text = canonicalJson(value);
        const again = JSON.parse(text);
        expect(canonicalJson(again)).to.equal(text);
        expect(again).to.deep.equal(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it('tells values apart that differ', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ maxLength: 4 }), json, { minKeys: 1 }), json, (fields, other) => {
        const name = Object.keys(fields)[0] as string;
        const changed = { ...fields, [name]: [other, 'changed'] };
        fc.pre(JSON.stringify(changed[name]) !== JSON.stringify(fields[name]));
        expect(canonicalJson(changed)).to.not.equal(canonicalJson(fields));
      }),
    );
  });

  it('sorts objects of hundreds of names too, where the library takes another way', () => {
    const names = Array.from({ length: 700 }, (_, i) => `f${(i * 7919) % 700}`);
    const value = Object.fromEntries(names.map((name) => [name, name]));
    expect(Object.keys(JSON.parse(canonicalJson(value)))).to.deep.equal([...names].sort());
    expect(canonicalJson(reversed(value))).to.equal(canonicalJson(value));
  });

  it('refuses what is no JSON value', () => {
    expect(() => canonicalJson(undefined as never)).to.throw('Only JSON values');
  });

  it('is hashed over its bytes in UTF-8', () => {
    expect(sha256('Müller')).to.equal('a78429899bb825ce667d25d92e2cde488f8a7d6871bb2be7365601cad6b0a8f2');
  });
});
