import { expect } from 'chai';
import fc from 'fast-check';
import type { Fact } from '../../src/model/facts/fact.js';
import { isOutside, type Outside, openOutside, outside, shortened } from '../../src/model/outside.js';
import type { Tx } from '../../src/store/store.js';

describe('text from outside', () => {
  it('becomes one line of bounded length that no terminal obeys', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 1000 }), (text) => {
        const kept = openOutside(outside(text));
        expect(Array.from(kept).length).to.be.at.most(300);
        // biome-ignore lint/suspicious/noControlCharactersInRegex: none may be left
        expect(kept).to.not.match(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]|\p{Surrogate}/u);
      }),
    );
  });

  it('stays the same through JSON', () => {
    const fact = { code: 'x', value: outside('Müller "& Söhne" 😀') };
    expect(JSON.parse(JSON.stringify(fact))).to.deep.equal(fact);
    expect(isOutside(JSON.parse(JSON.stringify(fact)).value)).to.equal(true);
  });

  it('is shortened with a mark', () => {
    expect(openOutside(shortened(outside('abcdef'), 4))).to.equal('abc…');
  });

  it('decides nothing: comparing, searching or measuring it does not compile', () => {
    const decide = (text: Outside, tx: Tx, fact: Fact): unknown[] => [
      // @ts-expect-error it has no overlap with a text
      text === 'in progress',
      // @ts-expect-error it is no text
      text.startsWith('renamed? '),
      // @ts-expect-error it is no text
      /in progress/.test(text),
      // @ts-expect-error it is no text
      text.includes('in progress'),
      // @ts-expect-error it is in no list of texts
      ['in progress'].includes(text),
      // @ts-expect-error it is no value of a statement
      tx.rows('SELECT id FROM outbox_message WHERE reason_data LIKE ?', [text]),
      // @ts-expect-error a fact is known by its code, not by a sentence
      fact === 'in progress',
      // @ts-expect-error nor is the sentence of an earlier version compared
      fact.code === 'legacy' && fact.text === 'in progress',
      // @ts-expect-error it has no order
      text < 'in progress',
      // @ts-expect-error it has no length
      text.length > 5,
      // @ts-expect-error it is no key
      new Map<string, number>().get(text),
      // @ts-expect-error it cannot be read from the object that carries it
      text.outside,
    ];
    expect(decide).to.be.a('function');
  });
});
