import { expect } from 'chai';
import fc from 'fast-check';
import { formatSourceKey, parseSourceKey } from '../../src/erp/source-key.js';

describe('the source key', () => {
  it('is the key itself, as it stands, for one column', () => {
    for (const key of ['4711', 'a/b', '100 %', ' x ']) expect(formatSourceKey([key])).to.equal(key);
  });

  it('keeps the parts of a composite key apart, whatever is in them', () => {
    const part = fc.string({ maxLength: 20 });
    fc.assert(
      fc.property(fc.array(part, { minLength: 2, maxLength: 4 }), (parts) => {
        expect(parseSourceKey(formatSourceKey(parts), parts.length)).to.deep.equal(parts);
      }),
    );
  });

  it('holds no U+0000, which not every store takes, and stays apart from the key without it', () => {
    const keys = ['a\0b', 'ab', 'a\0\0b'].map((key) => formatSourceKey([key]));
    expect(new Set(keys)).to.have.length(3);
    expect(keys.join()).to.not.include('\0');
    expect(keys.map((key) => parseSourceKey(key, 1)?.join() ?? null)).to.deep.equal([null, 'ab', null]);
  });

  it('fits into the store and tells long keys apart, so that one of them does not spoil its page', () => {
    const long = 'x'.repeat(400);
    const keys = [[`${long}a`], [`${long}b`], [long, 'a'], ['ü'.repeat(256)]].map(formatSourceKey);
    expect(new Set(keys)).to.have.length(4);
    for (const key of keys) expect(key.length).to.be.at.most(255);
    expect(formatSourceKey(['y'.repeat(255)])).to.equal('y'.repeat(255));
    for (const key of keys) for (const parts of [1, 2]) expect(parseSourceKey(key, parts)).to.equal(null);
  });
});
