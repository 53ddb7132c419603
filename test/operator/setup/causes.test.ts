import { expect } from 'chai';
import fc from 'fast-check';
import type { Fact } from '../../../src/model/facts/fact.js';
import type { RowFact } from '../../../src/model/facts/rows.js';
import { outside } from '../../../src/model/outside.js';
import { likeness } from '../../../src/operator/likeness.js';
import { Causes } from '../../../src/operator/setup/preview/causes.js';
import { tell } from '../../../src/words/words.js';

const empty = (column: string, line?: number): RowFact => ({
  code: 'value_missing',
  field: column,
  columns: [{ column, value: 'nothing' }],
  mayBeOptional: false,
  ...(line !== undefined && { line }),
});
const notANumber = (column: string, value: string): Fact => ({ code: 'not_a_number', column, value: outside(value) });

describe('the causes that keep records back', () => {
  const order = (sourceKey: string) => ({ entity: 'order' as const, sourceKey });

  it('are the same for different lines, values and names, and different for different columns', () => {
    expect(likeness(empty('sku', 2))).to.equal(likeness(empty('sku', 11)));
    expect(likeness({ code: 'customer_not_found', customer: 'ABC', mayBeLeftOut: false })).to.equal(
      likeness({ code: 'customer_not_found', customer: 'D/E', mayBeLeftOut: false }),
    );
    expect(likeness(notANumber('code', 'a'))).to.equal(likeness(notANumber('code', 'b')));
    expect(likeness(empty('sku', 1))).not.to.equal(likeness(empty('sku2', 1)));
    expect(likeness(empty('sku', 1)), 'of a line').not.to.equal(likeness(empty('sku')));
    const standIn = (value: string): Fact => ({
      ...empty('due_at'),
      code: 'value_missing',
      field: 'due',
      mayBeOptional: true,
      columns: [{ column: 'due_at', value: outside(value) }],
    });
    expect(likeness(standIn('0000-00-00'))).to.equal(likeness(standIn('1000-01-01')));
  });

  it('are the same however the keys in them are written, and different for another answer of the service', () => {
    const unnamed = (key: string): Fact => ({
      code: 'customer_not_sendable',
      customer: key,
      problems: 1,
      because: { code: 'text_too_long', column: 'name', length: key.length, maxLength: 10 },
    });
    expect(likeness(unnamed('018F3A9C0E7D'))).to.equal(likeness(unnamed('ACDEFBFFEEDD')));
    const refused = (status: number, message: string): Fact => ({
      code: 'http_refused',
      status,
      errorCode: null,
      message: outside(message),
    });
    expect(likeness(refused(422, 'no customer 01ab-99ff77'))).to.equal(
      likeness(refused(422, 'no customer 7777aabbcc')),
    );
    expect(likeness(refused(422, 'no customer 1'))).not.to.equal(likeness(refused(422, 'no sku 1')));
    expect(likeness(refused(422, 'no customer 1'))).not.to.equal(likeness(refused(409, 'no customer 1')));
  });

  it('count a record once for each, however many of its lines have it, and keep a few keys', () => {
    const causes = new Causes();
    for (let key = 1; key <= 9; key++)
      causes.add(order(`${key}`), [empty('sku', 1), empty('sku', 2), ...(key > 7 ? [empty('x')] : [])]);
    expect(causes.list().map(({ cause, records, keys }) => [tell(cause), records, keys.length])).to.deep.equal([
      ['line 2: sku is empty', 9, 5],
      ['x is empty', 2, 2],
    ]);
  });

  it('are fifty at most, and the rest is counted', () => {
    const causes = new Causes();
    for (let at = 0; at < 60; at++) causes.add(order('x'), [empty(`column_${at}`)]);
    expect([causes.list().length, causes.others]).to.deep.equal([50, 10]);
  });

  it('are bounded whatever the values are, and no record is lost', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.string(), fc.string({ unit: 'binary' })), { maxLength: 200 }), (records) => {
        const causes = new Causes();
        for (const [key, column] of records) causes.add(order(key), [notANumber(column, key)]);
        const counted = causes.list().reduce((sum, one) => sum + one.records, 0);
        expect(counted + causes.others).to.equal(records.length);
        expect(causes.list()).to.have.length.at.most(50);
      }),
    );
  });
});
