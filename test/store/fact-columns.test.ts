import { expect } from 'chai';
import type { Fact } from '../../src/model/facts/fact.js';
import { openOutside, outside } from '../../src/model/outside.js';
import { factColumns, factOf } from '../../src/store/fact-columns.js';
import { plainData, tell } from '../../src/words/words.js';

describe('a fact in two columns', () => {
  it('comes back as it was', () => {
    const fact = { code: 'left_with_status', column: 'status', value: outside('on "hold"') } as const;
    const { code, data } = factColumns(fact);
    expect([code, data]).to.deep.equal(['left_with_status', '{"column":"status","value":{"outside":"on \\"hold\\""}}']);
    expect(factOf(code, data)).to.deep.equal(fact);
    expect(factColumns(null)).to.deep.equal({ code: null, data: null });
    expect(factOf(null, null)).to.equal(null);
  });

  it('has its texts from outside shortened where it would not fit', () => {
    const value = outside('x'.repeat(10_000), 10_000);
    const { data } = factColumns({ code: 'left_with_status', column: 'status', value });
    expect(data?.length).to.be.below(4_000);
    expect(openOutside(JSON.parse(data ?? '').value)).to.match(/^x+…$/);
  });

  it('that is damaged in the store is told as it is, whatever its data are', () => {
    for (const data of ['{"text":', '[]', '7', '"x"', 'null', null, '{}', '{"value":7,"column":{"outside":"x"}}'])
      for (const code of ['legacy', 'left_with_status', 'total_differs', 'several_problems', 'unknown'])
        expect(tell(factOf(code, data) as Fact), `${code} ${data}`)
          .to.be.a('string')
          .and.not.equal('');
  });

  it('with a code of a later version is told as it is', () => {
    const fact = factOf('from_the_future', '{"line":2,"value":{"outside":"x"}}');
    expect(fact && tell(fact)).to.equal('from_the_future line=2 value="x"');
  });

  it('as an earlier version stored it, is told in the words of then', () => {
    const fact = factOf('legacy', '{"text":{"outside":"HTTP 422: no"}}');
    expect(fact && tell(fact)).to.equal('HTTP 422: no');
    expect(fact && plainData(fact)).to.deep.equal({ text: 'HTTP 422: no' });
  });
});
