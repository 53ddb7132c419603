import { expect } from 'chai';
import fc from 'fast-check';
import { type FieldPlan, mapField } from '../../../src/erp/mapping/map-field.js';
import { tellWhole } from '../../../src/words/words.js';

const context = { timeZone: 'Europe/Berlin', scale: 2, rounding: 'refuse' as const };
const plan: FieldPlan = { name: 'terms', source: { column: 'zterm', kind: 'text' }, type: 'text', optional: false };
const words = new Map<string, string | number | boolean>([
  ['COD', 'cash'],
  ['30', 'net30'],
  ['0', false],
]);
const when = { path: 'orders.fields.terms.when', words, otherwise: undefined };

function map(value: string | null, extra: Partial<FieldPlan> = {}): unknown {
  const outcome = mapField({ zterm: value }, { ...plan, when, ...extra }, context);
  return 'problem' in outcome ? { problem: tellWhole(outcome.problem) } : outcome.value;
}

describe('the words for codes', () => {
  it('stand for the codes that they name', () => {
    expect(['COD', '30', '0'].map((code) => map(code))).to.deep.equal(['cash', 'net30', false]);
  });

  it('park a record with an unknown code, and name field, code and setting', () => {
    expect(map('EOM')).to.deep.equal({
      problem:
        'zterm "EOM" has no word in orders.fields.terms.when. Add it there, or set orders.fields.terms.otherwise.',
    });
    for (const code of ['constructor', 'toString', '__proto__', 'cod', ' COD', '030'])
      expect(map(code), code).to.have.property('problem');
  });

  it('have one for all other codes where it is given, even a false one', () => {
    expect(map('EOM', { when: { ...when, otherwise: 'other' } })).to.equal('other');
    expect(map('EOM', { when: { ...when, otherwise: false } })).to.equal(false);
    expect(map('0', { when: { ...when, otherwise: 'other' } })).to.equal(false);
  });

  it('know an empty column only by the code that is empty', () => {
    const problem = 'zterm is empty. Correct it in the ERP, or set optional: true for terms.';
    const all = { ...when, otherwise: 'other' };
    expect(map(null, { when: all })).to.deep.equal({ problem });
    expect(map('', { when: all, optional: true })).to.equal(undefined);
    const withNone = { ...when, words: new Map([...words, ['', 'prepaid'] as const]) };
    for (const value of [null, '']) expect(map(value, { when: withNone })).to.equal('prepaid');
    expect(map('  ', { when: withNone, shape: { trim: true } })).to.equal('prepaid');
  });

  it('are looked up after trim and case', () => {
    expect(map(' cod ', { shape: { trim: true, case: 'upper' } })).to.equal('cash');
  });

  it('are all that is ever sent', () => {
    fc.assert(
      fc.property(fc.oneof(fc.constantFrom('COD', '30', '0', ''), fc.string()), (code) => {
        const sent = map(code);
        if (words.has(code)) expect(sent).to.equal(words.get(code));
        else expect(sent).to.have.property('problem');
      }),
    );
  });
});
