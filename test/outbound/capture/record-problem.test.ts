import { expect } from 'chai';
import { fieldRuleSettings } from '../../../src/config/sections/service.js';
import { recordProblem as problemOf } from '../../../src/outbound/capture/plan-row.js';
import { tellWhole } from '../../../src/words/words.js';

const demands = (fields: object = {}, maxRequestBytes = 1_000) => ({
  fields: fieldRuleSettings.parse(fields),
  maxRequestBytes,
});
const order = { customer_code: 'C1', note: 'Müller', items: [{ sku: 'A-1', qty: 1, price: 5 }] };

const recordProblem = (...given: Parameters<typeof problemOf>) => {
  const problem = problemOf(...given);
  return problem && tellWhole(problem);
};

describe('what the service demands of a record', () => {
  it('is nothing, unless the profile says so', () => {
    expect(recordProblem(demands(), 'order', order, 10)).to.equal(null);
    expect(recordProblem(demands(), 'customer', { customer_code: 'C1' }, 10)).to.equal(null);
  });

  it('is a field that is there and not empty', () => {
    const required = demands({ order: { note: { required: true } }, customer: { name: { required: true } } });
    expect(recordProblem(required, 'order', order, 10)).to.equal(null);
    for (const note of [null, '', undefined])
      expect(
        recordProblem(required, 'order', { ...order, ...(note === undefined ? {} : { note }) }, 10) === null,
      ).to.equal(note === undefined);
    expect(recordProblem(required, 'customer', { customer_code: 'C1' }, 10)).to.equal(
      'the service wants name, which is missing (service.fields.customer). Correct it in the ERP.',
    );
  });

  it('is a length in characters, not in halves of pairs', () => {
    const short = demands({ order: { note: { maxLength: 6 } } });
    expect(recordProblem(short, 'order', order, 10)).to.equal(null);
    expect(recordProblem(short, 'order', { ...order, note: '🚚🚚🚚🚚🚚🚚' }, 10)).to.equal(null);
    expect(recordProblem(short, 'order', { ...order, note: 'Müllers' }, 10)).to.contain(
      'note has 7 characters, more than the 6 that the service takes (service.fields.order)',
    );
    expect(recordProblem(short, 'order', { ...order, note: 1234567 }, 10)).to.contain('7 characters');
  });

  it('is a number of lines, and each line by itself', () => {
    const lines = demands({ order: { items: { maxLength: 1 } }, item: { sku: { maxLength: 2 } } });
    const two = { ...order, items: [{ sku: 'A', qty: 1, price: 5 }, ...order.items] };
    expect(recordProblem(lines, 'order', two, 10)).to.equal(
      'items has 2 entries, more than the 1 that the service takes (service.fields.order); ' +
        'line 2: sku has 3 characters, more than the 2 that the service takes (service.fields.item). Correct it in the ERP.',
    );
  });

  it('is a size', () => {
    expect(recordProblem(demands({}, 10), 'order', order, 10)).to.equal(null);
    expect(recordProblem(demands({}, 10), 'order', order, 11)).to.contain('11 bytes large');
  });

  it('is told in a line that has an end', () => {
    const items = Array.from({ length: 50 }, () => ({ sku: 'ABC', qty: 1, price: 1 }));
    const problem = recordProblem(demands({ item: { sku: { maxLength: 1 } } }), 'order', { ...order, items }, 10);
    expect(problem).to.contain('and 45 more').and.have.length.below(700);
  });
});
