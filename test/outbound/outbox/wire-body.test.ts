import { expect } from 'chai';
import fc from 'fast-check';
import { wireBody } from '../../../src/outbound/outbox/idempotency-key.js';

describe('the bytes that leave', () => {
  it('are the frozen body where a header carries the key', () => {
    expect(wireBody('{"a": 1}', 'k', null)).to.equal('{"a": 1}');
  });

  it('begin with the key where a field carries it, and are the body otherwise', () => {
    expect(wireBody('{"a": 1.0}', 'k', 'code')).to.equal('{"code":"k","a": 1.0}');
    expect(wireBody('{}', 'k', 'code')).to.equal('{"code":"k"}');
  });

  it('are none for a removal', () => {
    expect(wireBody('', 'k', 'code')).to.equal('');
  });

  it('say what the body says, and the key, and are the same again', () => {
    const body = fc.dictionary(
      fc.string().filter((name) => name !== 'code' && name !== '__proto__'),
      fc.jsonValue(),
    );
    fc.assert(
      fc.property(body, fc.uuid(), (value, key) => {
        const bytes = wireBody(JSON.stringify(value), key, 'code');
        expect(JSON.parse(bytes)).to.deep.equal(JSON.parse(JSON.stringify({ code: key, ...value })));
        expect(wireBody(JSON.stringify(value), key, 'code')).to.equal(bytes);
      }),
      { numRuns: 500 },
    );
  });
});
