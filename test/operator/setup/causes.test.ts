import { expect } from 'chai';
import fc from 'fast-check';
import { Causes, commonPart } from '../../../src/operator/setup/preview/causes.js';

describe('the causes that keep records back', () => {
  const order = (sourceKey: string, ...names: string[]) => ({ entity: 'order' as const, sourceKey, names });

  it('are the same for different lines, values and names, and different for different columns', () => {
    expect(commonPart('line 2: qty 1.5 is not a whole number', [])).to.equal(
      commonPart('line 11: qty 2.25 is not a whole number', []),
    );
    expect(commonPart('its customer ABC is not in customers.query', ['1', 'ABC'])).to.equal(
      commonPart('its customer D/E.+ is not in customers.query', ['2', 'D/E.+']),
    );
    expect(commonPart('code "a\\"b 1" is not a number', [])).to.equal(commonPart('code "x" is not a number', []));
    expect(commonPart('line 1: sku is empty', [])).not.to.equal(commonPart('line 1: sku2 is empty', []));
    expect(commonPart('due_at is 0000-00-00, which is no date', [])).to.equal(
      commonPart('due_at is 1000-01-01, which is no date', []),
    );
  });

  it('do not mistake a key for a part of a word', () => {
    expect(commonPart('line 1: ref1 is empty', ['1'])).to.equal('line …: ref1 is empty');
  });

  it('do not mistake a key for a part of an amount', () => {
    const problem = (amount: string) =>
      commonPart(`no price comes to amount ${amount}: 3 × 3.43 is it not`, ['29', '10']);
    expect([problem('10.29'), problem('29.10'), problem('1,029.00')]).to.deep.equal(Array(3).fill(problem('7.77')));
    expect(commonPart('there is no customer 29.', ['29'])).to.equal('there is no customer ….');
  });

  it('count a record once for each, however many of its lines have it, and keep a few keys', () => {
    const causes = new Causes();
    for (let key = 1; key <= 9; key++)
      causes.add(order(`${key}`), ['line 1: sku is empty', 'line 2: sku is empty', ...(key > 7 ? ['x is empty'] : [])]);
    expect(causes.list().map(({ cause, records, keys }) => [cause, records, keys.length])).to.deep.equal([
      ['line …: sku is empty', 9, 5],
      ['x is empty', 2, 2],
    ]);
  });

  it('are fifty at most, and the rest is counted', () => {
    const causes = new Causes();
    for (let at = 0; at < 60; at++) causes.add(order('x'), [`column_${'abcdefghij'[at % 10]}${at} is empty`]);
    expect([causes.list().length, causes.others]).to.deep.equal([50, 10]);
  });

  it('are bounded whatever the texts are, and no record is lost', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.string(), fc.string({ unit: 'binary' })), { maxLength: 200 }), (records) => {
        const causes = new Causes();
        for (const [key, problem] of records) causes.add(order(key, key), [problem]);
        const counted = causes.list().reduce((sum, one) => sum + one.records, 0);
        expect(counted + causes.others).to.equal(records.length);
        expect(causes.list()).to.have.length.at.most(50);
      }),
    );
  });
});
