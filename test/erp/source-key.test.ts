import { expect } from 'chai';
import fc from 'fast-check';
import { formatSourceKey, keysBefore, nextKey, parseSourceKey, sourceOf } from '../../src/model/record.js';

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
    const keys = [[`${long}a`], [`${long}b`], [long, 'a'], ['ü'.repeat(256)]].map((parts) => formatSourceKey(parts));
    expect(new Set(keys)).to.have.length(4);
    for (const key of keys) expect(key.length).to.be.at.most(255);
    expect(formatSourceKey(['y'.repeat(255)])).to.equal('y'.repeat(255));
    for (const key of keys) for (const parts of [1, 2]) expect(parseSourceKey(key, parts)).to.equal(null);
  });

  it('of several sources is another one for each record, whatever their keys hold', () => {
    const odd = fc.constantFrom('~', 'berlin', 'berlin~', '~~berlin~5', '…', '/', 'x', '7', 'ß', '\0', ' ');
    const key = fc.array(fc.oneof(odd, fc.string({ maxLength: 8, unit: 'grapheme' })), { minLength: 1, maxLength: 5 });
    const name = fc.constantFrom('', 'b', 'berlin', 'berlin-2', '7');
    const record = fc.record({ source: name, parts: key.map((pieces) => [pieces.join('')]) });
    fc.assert(
      fc.property(record, record, (one, other) => {
        const [own, its] = [one, other].map(({ parts, source }) => formatSourceKey(parts, source)) as [string, string];
        expect(own === its).to.equal(one.source === other.source && one.parts[0] === other.parts[0]);
        expect(sourceOf(own)).to.equal(one.source);
        const isAskable = !one.parts[0]?.includes('\0') && !own.startsWith('…');
        if (isAskable) expect(parseSourceKey(own, 1, one.source)).to.deep.equal(one.parts);
        if (one.source !== other.source) expect(parseSourceKey(own, 1, other.source)).to.equal(null);
      }),
      { numRuns: 2_000 },
    );
  });

  it('of a named source is one of its own also where it is composite or long', () => {
    const long = formatSourceKey(['x'.repeat(255)], 'berlin');
    expect(long.length).to.be.at.most(255);
    expect([sourceOf(long), parseSourceKey(long, 1, 'berlin')]).to.deep.equal(['berlin', null]);
    expect(formatSourceKey(['a', 'b/c'], 'berlin')).to.equal('berlin~a/b%2Fc');
    expect(parseSourceKey('berlin~a/b%2Fc', 2, 'berlin')).to.deep.equal(['a', 'b/c']);
  });

  it('is found by going over all keys in the order of the store, past those of other sources at once', () => {
    const name = fc.constantFrom('', 'b', 'berlin', 'berlin-2', '7');
    const key = fc.tuple(name, fc.string({ maxLength: 4 })).map(([source, own]) => formatSourceKey([own], source));
    fc.assert(
      fc.property(
        fc.uniqueArray(key, { maxLength: 40 }),
        name,
        fc.integer({ min: 1, max: 5 }),
        (keys, source, limit) => {
          const stored = keys
            .filter((one) => one !== '')
            .sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
          const isAfter = (one: string, after: string) => Buffer.compare(Buffer.from(one), Buffer.from(after)) > 0;
          const met: string[] = [];
          for (let after: string | null = keysBefore(source); after !== null; ) {
            const from: string = after;
            const page = stored.filter((one) => isAfter(one, from)).slice(0, limit);
            met.push(...page.filter((one) => sourceOf(one) === source));
            after = nextKey(source, page.at(-1));
          }
          // A key may be empty in the default source alone, where no page begins before it.
          const own = stored.filter((one) => sourceOf(one) === source && one !== `${source}~`);
          expect(met).to.deep.equal(own);
        },
      ),
    );
  });
});
