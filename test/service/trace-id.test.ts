import { expect } from 'chai';
import fc from 'fast-check';
import { newTrace } from '../../src/service/trace-id.js';

describe('the trace of an attempt', () => {
  it('is one that the header may carry, whatever the dice say', () => {
    const dice = fc.array(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), {
      minLength: 6,
      maxLength: 6,
    });
    fc.assert(
      fc.property(dice, (rolls) => {
        let nth = 0;
        const { traceId, traceparent } = newTrace(() => rolls[nth++] ?? 0);
        expect(traceparent).to.match(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
        expect(traceparent).to.contain(`-${traceId}-`);
        expect(traceparent).not.to.match(/-0{32}-|-0{16}-/);
      }),
    );
    expect(newTrace(() => 0).traceparent).to.equal(`00-${'0'.repeat(31)}1-${'0'.repeat(15)}1-01`);
  });
});
