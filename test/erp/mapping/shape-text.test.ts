import { expect } from 'chai';
import fc from 'fast-check';
import { type FieldPlan, mapField } from '../../../src/erp/mapping/map-field.js';
import { cutText, lengthOf, shapeText } from '../../../src/erp/mapping/shape-text.js';

const context = { timeZone: 'Europe/Berlin', scale: 2, rounding: 'refuse' as const };
const plan: FieldPlan = { name: 'f', source: { column: 'c', kind: 'text' }, type: 'text', optional: false };

function map(value: string | null, extra: Partial<FieldPlan>): unknown {
  const outcome = mapField({ c: value }, { ...plan, ...extra }, context);
  return 'problem' in outcome ? outcome : outcome.value;
}

const FAMILY = '👨‍👩‍👧';

describe('a free text', () => {
  it('is trimmed of every blank, and keeps those within', () => {
    expect(map(' \t\u00a0Main  Road 1\r\n ', { shape: { trim: true } })).to.equal('Main  Road 1');
  });

  it('that holds nothing else than blanks is empty', () => {
    const problem = 'c holds no text; correct it in the ERP, or set optional: true for f';
    expect(map('  \n', { shape: { trim: true } })).to.deep.equal({ problem });
    expect(map('  \n', { shape: { trim: true }, optional: true })).to.equal(undefined);
    expect(map('  ', {})).to.equal('  ');
  });

  it('is put into one case, whatever the language of this machine', () => {
    expect(map('Straße i', { shape: { case: 'upper' } })).to.equal('STRASSE I');
    expect(map('ÄI', { shape: { case: 'lower' } })).to.equal('äi');
  });

  it('is shaped before its length counts', () => {
    expect(map(' abc ', { shape: { trim: true }, maxLength: 3 })).to.equal('abc');
    expect(map('ßß', { shape: { case: 'upper' }, maxLength: 3 })).to.have.property('problem');
  });

  it('that is too long is cut where a mark is given, and only then', () => {
    expect(map('abcdef', { maxLength: 4, cut: '…' })).to.equal('abc…');
    expect(map('abcdef', { maxLength: 4, cut: '' })).to.equal('abcd');
    expect(map('abcd', { maxLength: 4, cut: '…' })).to.equal('abcd');
    expect(map('abcdef', { maxLength: 4 })).to.have.property('problem');
  });

  it('is cut between characters as people see them', () => {
    expect(map(`${FAMILY}${FAMILY}`, { maxLength: 8, cut: '…' })).to.equal(`${FAMILY}…`);
    expect(map('cafe\u0301s and more', { maxLength: 5, cut: '…' })).to.equal('caf…');
    expect(map('💶💶💶', { maxLength: 2, cut: '…' })).to.equal('💶…');
  });

  it('that is cut is a whole beginning, ends with the mark, and is never too long', () => {
    const piece = fc.constantFrom('a', ' ', '💶', FAMILY, 'e\u0301', '🇩🇪', '\r\n');
    const texts = fc.array(piece, { maxLength: 20 }).map((pieces) => pieces.join(''));
    fc.assert(
      fc.property(texts, fc.integer({ min: 2, max: 12 }), fc.constantFrom('', '…', '..'), (text, maxLength, mark) => {
        const cut = cutText(text, Math.max(maxLength, mark.length + 1), mark);
        expect(lengthOf(cut)).to.be.at.most(Math.max(maxLength, mark.length + 1));
        expect(cut.endsWith(mark)).to.equal(true);
        const kept = cut.slice(0, cut.length - mark.length);
        expect(text.startsWith(kept)).to.equal(true);
        const ends = [...new Intl.Segmenter().segment(text)].map(({ index }) => index);
        expect([...ends, text.length]).to.include(kept.length);
      }),
    );
  });

  it('that is shaped already stays as it is', () => {
    const shapes = fc.record({ trim: fc.boolean(), case: fc.constantFrom('upper' as const, 'lower' as const) });
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme-ascii' }), shapes, (text, shape) => {
        const once = shapeText(text, shape);
        expect(shapeText(once, shape)).to.equal(once);
      }),
    );
  });
});
