import { expect } from 'chai';
import fc from 'fast-check';
import { type FieldPlan, mapField } from '../../../src/erp/mapping/map-field.js';
import { cutText, lengthOf, shapeText } from '../../../src/erp/mapping/shape-text.js';
import { tellWhole } from '../../../src/words/words.js';

const context = { timeZone: 'Europe/Berlin', scale: 2, rounding: 'refuse' as const };
const plan: FieldPlan = { name: 'f', source: { column: 'c', kind: 'text' }, type: 'text', optional: false };

function map(value: string | null, extra: Partial<FieldPlan>): unknown {
  const outcome = mapField({ c: value }, { ...plan, ...extra }, context);
  return 'problem' in outcome ? { problem: tellWhole(outcome.problem) } : outcome.value;
}

const FAMILY = '👨‍👩‍👧';

describe('a text with HTML', () => {
  const strip = (text: string) => map(text, { shape: { html: 'strip' } });
  const decode = (text: string) => map(text, { shape: { html: 'decode' } });

  it('keeps the lines that a reader sees', () => {
    expect(strip('<p>Ring <b>twice</b>,&nbsp;please.<br>Thanks</p>\n<ul><li>one</li><li>two</li></ul>')).to.equal(
      'Ring twice,\u00a0please.\nThanks\none\ntwo',
    );
    expect(strip('<style>p { color: red }</style><p>a\n  b</p><!-- c --><script>d()</script>')).to.equal('a b');
    expect(strip('<td>1</td><td>2</td>')).to.equal('1\n2');
    expect(strip('M&uuml;ller &amp; S&#246;hne')).to.equal('Müller & Söhne');
  });

  it('loses nothing that only looks like a tag', () => {
    for (const text of [
      'Müller <info@mueller.de> there',
      'see <https://example.com/a>',
      'a < b',
      'I <3 you',
      'if a<b then',
    ])
      expect(strip(text), text).to.equal(text);
    expect(strip('a\n  b')).to.equal('a\n  b');
  });

  it('of markup alone is empty', () => {
    expect(strip('<p><br></p>')).to.have.property('problem').that.includes('c holds no text');
    expect(map('<p>&nbsp;</p>', { shape: { html: 'strip', trim: true }, optional: true })).to.equal(undefined);
  });

  it('has its entities decoded once, and only whole ones', () => {
    expect(decode('M&uuml;ller &amp; <b>S&#246;hne</b>')).to.equal('Müller & <b>Söhne</b>');
    expect(decode('&amp;lt; R&D a&copy=1')).to.equal('&lt; R&D a&copy=1');
    expect(decode('a&#0;b')).to.equal('a\ufffdb');
  });

  it('comes out as written when it was escaped', () => {
    const escaped = (text: string) => text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
    const words = fc.array(fc.constantFrom('a', '<b>', '&amp;', 'R&D', '<', '💶', 'ü'), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(words, (pieces) => {
        const text = pieces.join(' ');
        expect(decode(escaped(text))).to.equal(text);
        expect(strip(`<p>${escaped(text)}</p>`)).to.equal(text);
      }),
    );
  });
});

describe('a free text', () => {
  it('is trimmed of every blank, and keeps those within', () => {
    expect(map(' \t\u00a0Main  Road 1\r\n ', { shape: { trim: true } })).to.equal('Main  Road 1');
  });

  it('that holds nothing else than blanks is empty', () => {
    const problem = 'c holds no text. Correct it in the ERP, or set optional: true for f.';
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
