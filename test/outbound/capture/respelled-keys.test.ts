import { expect } from 'chai';
import fc from 'fast-check';
import { foldKey } from '../../../src/model/record.js';
import { knownAs } from '../../../src/outbound/capture/known-records.js';

describe('a key that may be another spelling of a known one', () => {
  it('folds to the same text however case, accents, width and blanks are written', () => {
    const spellings = [
      ['A-5', 'a-5', 'A-5 ', ' a-5', 'Ａ-５', 'a-\u00a05', 'a\u0000-5'],
      ['STRASSE', 'Straße', 'strasse'],
      ['Müller', 'MULLER', 'Mu\u0308ller'],
      ['sg1/A b', 'SG1/ab'],
      // utf8mb4_general_ci, …_unicode_ci, …_unicode_520_ci and later, …_german2_ci, …_danish_ci, latin1_swedish_ci, latin1_german1_ci
      ['Groß', 'GROS'],
      ['CŒUR', 'coeur'],
      ['Łódź', 'LODZ'],
      ['Søren', 'Soren'],
      ['Đorđe', 'DORDE'],
      ['Ħal', 'hal'],
      ['Müller', 'MUELLER', 'Myller'],
      ['Jäger', 'JAEGER', 'jæger', 'jager'],
      ['Århus', 'Aarhus'],
    ];
    for (const same of spellings) expect(new Set(same.map(foldKey)), same.join()).to.have.lengthOf(1);
    expect(foldKey('A-5')).to.not.equal(foldKey('A-6'));
    expect(foldKey('4711')).to.equal('4711');
  });

  it('folds to a text that its column has room for', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 255 }), (key) => {
        expect(Array.from(foldKey(key)).length).to.be.at.most(255);
        expect(foldKey(foldKey(key))).to.equal(foldKey(key));
      }),
      { examples: [['\ufdfa'.repeat(255)]] },
    );
  });

  const rows = (of: { [key: string]: string[] | undefined }) => new Map(Object.entries(of) as [string, string[]][]);

  it('is the known one where the ERP has one row, and it is equal to both', () => {
    const same = knownAs('a-5', ['A-5'], rows({ 'a-5': ['a-5'], 'A-5': ['a-5'] }));
    expect(same).to.deep.equal({ key: 'A-5', unclear: null });
  });

  it('is a key of its own where the ERP tells the two apart, has a row for each, or can not be asked', () => {
    for (const answer of [
      { 'a-5': ['a-5'], 'A-5': [] },
      { 'a-5': ['a-5'], 'A-5': ['A-5'] },
      { 'a-5': ['A-5', 'a-5'], 'A-5': ['A-5', 'a-5'] },
      { 'A-5': [] },
    ])
      expect(knownAs('a-5', ['A-5'], rows(answer)), JSON.stringify(answer)).to.equal(undefined);
  });

  it('is left for the next sweep when its row was changed or deleted while it was read', () => {
    expect(knownAs('a-5', ['A-5'], rows({ 'a-5': [], 'A-5': [] }))).to.equal(null);
    expect(knownAs('a-5', ['A-5'], rows({ 'a-5': ['A-5'], 'A-5': ['A-5'] }))).to.equal(null);
  });

  it('waits for a person where it may be several known ones, or several rows may be the known one', () => {
    const two = knownAs('a-5', ['A-5', 'A-5 '], rows({ 'a-5': ['a-5'], 'A-5': ['a-5'], 'A-5 ': ['a-5'] }));
    expect(two).to.deep.include({ key: 'A-5' });
    expect(two?.unclear).to.deep.equal({
      code: 'key_ambiguous',
      equal: ['A-5', 'A-5 ', 'a-5'],
      known: ['A-5', 'A-5 '],
    });
    const both = ['a-5', 'a-5 '];
    expect(knownAs('a-5', ['A-5'], rows({ 'a-5': both, 'A-5': both }))?.unclear).to.have.property(
      'code',
      'key_ambiguous',
    );
  });

  it('is never taken for new while the ERP calls it equal to a known key that no row spells', () => {
    // The collation compares the letter; a spelling is the letter with a case and blanks.
    const spelling = fc.constantFrom('a', 'A', 'a ', 'A ', 'b', 'B');
    const nonEmpty = fc.uniqueArray(spelling, { minLength: 1 });
    fc.assert(
      fc.property(spelling, nonEmpty, nonEmpty, fc.boolean(), (key, known, inErp, isLoose) => {
        fc.pre(!known.includes(key) && inErp.includes(key));
        const isEqual = (a: string, b: string) => (isLoose ? foldKey(a) === foldKey(b) : a === b);
        const others = known.filter((other) => foldKey(other) === foldKey(key));
        const answer = new Map([key, ...others].map((one) => [one, inErp.filter((row) => isEqual(row, one))]));
        const lost = others.filter((other) => isEqual(other, key) && !inErp.includes(other));
        const decided = knownAs(key, others, answer);
        if (lost.length === 0) expect(decided).to.equal(undefined);
        else expect(lost).to.include(decided?.key);
        // Goes on without a person only where there is one row and one record.
        const rowsOfIt = inErp.filter((row) => isEqual(row, key));
        if (decided?.unclear === null) expect([lost.length, rowsOfIt.length]).to.deep.equal([1, 1]);
      }),
    );
  });
});
