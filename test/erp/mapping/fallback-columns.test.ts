import { expect } from 'chai';
import fc from 'fast-check';
import { type FieldPlan, mapField } from '../../../src/erp/mapping/map-field.js';
import { tellWhole } from '../../../src/words/words.js';

const context = { timeZone: 'Europe/Berlin', scale: 2, rounding: 'refuse' as const };
const source = { column: 'code', kind: 'text' as const, orElse: [{ column: 'id', kind: 'number' as const }] };
const plan: FieldPlan = { name: 'customer_code', source, type: 'text', optional: false, isRequired: true };

function map(code: string | null, id: string | null, extra: Partial<FieldPlan> = {}): unknown {
  const outcome = mapField({ code, id }, { ...plan, ...extra }, context);
  return 'problem' in outcome ? { problem: tellWhole(outcome.problem) } : outcome.value;
}

describe('a column that stands in for another one', () => {
  it('counts where the first is NULL or empty text, and nowhere else', () => {
    expect(map('K7', '17')).to.equal('K7');
    expect(map(null, '17')).to.equal('17');
    expect(map('', '17')).to.equal('17');
    expect(map(' ', '17')).to.equal(' ');
    expect(map('0', '17')).to.equal('0');
  });

  it('counts where the first holds only blanks that are trimmed', () => {
    expect(map(' ', '17', { shape: { trim: true } })).to.equal('17');
  });

  it('counts where the first is a date that stands for none', () => {
    expect(map('0000-00-00', '2026-11-03', { type: 'date' })).to.equal('2026-11-03');
  });

  it('hides no wrong value', () => {
    expect(map('two', '17', { type: 'integer' })).to.deep.equal({
      problem: 'code "two" is not a number. Correct it in the ERP.',
    });
    expect(map('abcd', '17', { maxLength: 3 })).to.have.property('problem');
  });

  it('is named beside the first where both are empty', () => {
    expect(map('', null)).to.deep.equal({ problem: 'code is empty, and id is empty. Correct it in the ERP.' });
    expect(map('', null, { isRequired: false, optional: true })).to.equal(undefined);
  });

  it('gives way to the first that is not empty, whatever the columns hold', () => {
    const cell = fc.constantFrom(null, '', 'a', 'b', '0');
    fc.assert(
      fc.property(cell, cell, (first, second) => {
        const expected = first || second;
        if (expected) expect(map(first, second)).to.equal(expected);
        else expect(map(first, second)).to.have.property('problem');
      }),
    );
  });
});
