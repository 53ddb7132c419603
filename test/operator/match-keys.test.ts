import { expect } from 'chai';
import fc from 'fast-check';
import { KeyMatcher } from '../../src/operator/match-keys.js';
import type { KnownKey } from '../../src/outbound/recovery/rename-records.js';

const identityOf = (number: string, created: string) => JSON.stringify({ number, created });
const known = (sourceKey: string, identity: string | null): KnownKey => ({
  sourceKey,
  identity,
  serviceId: `at-${sourceKey}`,
  generation: 0,
});

function match(records: KnownKey[], rows: [string, string | null][], named = new Map<string, string>()) {
  const matcher = new KeyMatcher(records, named);
  for (const [key, identity] of rows) matcher.see(key, identity);
  return matcher.result();
}

describe('records of which the keys are others', () => {
  const one = known('1', identityOf('N1', '2026-01-01 10:00:00'));

  it('are found by what never changes, also where its columns got other names or another precision', () => {
    const now = JSON.stringify({ order_no: 'N1', made_at: '2026-01-01 10:00:00.000' });
    expect([...match([one], [['A', now]]).matches]).to.deep.equal([['1', 'A']]);
  });

  it('are not found by the number alone', () => {
    const { matches, gone } = match([one], [['A', identityOf('N1', '2026-01-02 10:00:00')]]);
    expect(matches.size).to.equal(0);
    expect(gone).to.deep.equal([one]);
  });

  it('that nothing is known of are gone', () => {
    expect(match([known('1', null)], [['A', null]]).gone).to.have.length(1);
  });

  it('and look the same wait for a person, who may say which is which', () => {
    const twin = { ...one, sourceKey: '2' };
    const rows: [string, string | null][] = [
      ['A', one.identity],
      ['B', one.identity],
    ];
    const { matches, ambiguous } = match([one, twin], rows);
    expect(matches.size).to.equal(0);
    expect(ambiguous.flatMap(({ from }) => from)).to.include.members(['1', '2']);
    expect([...match([one, twin], rows, new Map([['B', '1']])).matches]).to.have.deep.members([
      ['1', 'B'],
      ['2', 'A'],
    ]);
  });

  it('are matched one to one, each to a row that looks like it, or not at all', () => {
    const identity = fc.option(
      fc.constantFrom('N1', 'N2', 'N3', 'N4').map((number) => identityOf(number, '2026-01-01')),
    );
    fc.assert(
      fc.property(fc.array(identity, { maxLength: 6 }), fc.array(identity, { maxLength: 6 }), (mine, theirs) => {
        const records = mine.map((text, index) => known(String(index), text));
        const rows = theirs.map((text, index): [string, string | null] => [`new-${index}`, text]);
        const { matches, ambiguous, gone } = match(records, rows);
        expect(new Set(matches.values()).size).to.equal(matches.size);
        const counted = new Set([
          ...matches.keys(),
          ...gone.map(({ sourceKey }) => sourceKey),
          ...ambiguous.flatMap(({ from }) => from),
        ]);
        expect(counted.size).to.equal(records.length);
        for (const [from, to] of matches) {
          const text = mine[Number(from)];
          expect(text).to.equal(new Map(rows).get(to));
          expect(mine.filter((other) => other === text)).to.have.length(1);
          expect(theirs.filter((other) => other === text)).to.have.length(1);
        }
      }),
      { seed: 1 },
    );
  });
});
