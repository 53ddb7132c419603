import { expect } from 'chai';
import fc from 'fast-check';
import { type OrderReadinessInput, orderReadiness } from '../../../src/outbound/capture/rows-aside.js';
import { tell } from '../../../src/words/words.js';

const input = (changes: Partial<OrderReadinessInput> = {}): OrderReadinessInput => ({
  unmapped: null,
  totals: { lines: '300', header: '500' },
  money: { currency: 'EUR', scale: 2 },
  ageSeconds: 0,
  seenSeconds: 0,
  settleSeconds: 30,
  ...changes,
});
const equal = { lines: '500', header: '500' };

describe('whether an order is ready', () => {
  it('goes at once when its lines add up to its total', () => {
    expect(orderReadiness(input({ totals: equal }))).to.deep.equal({ ready: true });
    expect(orderReadiness(input({ totals: equal, ageSeconds: -5 }))).to.deep.equal({ ready: true });
  });

  it('waits while its lines do not add up yet, and says both figures', () => {
    for (const ageSeconds of [0, 29, null, -3_600]) {
      const answer = orderReadiness(input({ ageSeconds, seenSeconds: 29 }));
      expect(answer).to.include({ ready: false, wait: true });
      expect('reason' in answer && tell(answer.reason)).to.equal(
        'the lines add up to 3.00 EUR, the order says 5.00 EUR',
      );
    }
  });

  it('needs a person when time did not help', () => {
    expect(orderReadiness(input({ ageSeconds: 30 }))).to.include({ ready: false, wait: false });
    expect(orderReadiness(input({ seenSeconds: 30 }))).to.include({ ready: false, wait: false });
    // The ERP's clock may be wrong or its changed-at unknown: then our own time counts.
    expect(orderReadiness(input({ ageSeconds: null, seenSeconds: 31 }))).to.include({ ready: false, wait: false });
    expect(orderReadiness(input({ ageSeconds: -3_600, seenSeconds: 31 }))).to.include({ ready: false, wait: false });
  });

  it('waits as long where the row is no record yet, except for one whose key is the problem', () => {
    const unmapped = { code: 'no_lines', texts: 0 } as const;
    expect(orderReadiness(input({ totals: null, unmapped }))).to.deep.equal({
      ready: false,
      wait: true,
      reason: unmapped,
    });
    for (const passed of [{ ageSeconds: 30 }, { seenSeconds: 30 }, { settleSeconds: 0 }])
      expect(orderReadiness(input({ totals: null, unmapped, ...passed }))).to.deep.equal({ ready: true });
    const keyless = { code: 'key_empty', setting: 'orders.query' } as const;
    expect(orderReadiness(input({ totals: null, unmapped: keyless }))).to.deep.equal({ ready: true });
  });

  it('goes by time alone where no total is mapped', () => {
    expect(orderReadiness(input({ totals: null, ageSeconds: 3 }))).to.deep.equal({
      ready: false,
      wait: true,
      reason: { code: 'lines_may_follow', settleSeconds: 30 },
    });
    expect(orderReadiness(input({ totals: null, ageSeconds: 30 }))).to.deep.equal({ ready: true });
    expect(orderReadiness(input({ totals: null, ageSeconds: null, seenSeconds: 30 }))).to.deep.equal({ ready: true });
    expect(orderReadiness(input({ totals: null, settleSeconds: 0 }))).to.deep.equal({ ready: true });
  });

  it('never sends lines that do not add up, never waits for ever, and never parks what adds up', () => {
    const amount = fc.constantFrom('0', '1', '-1', '500', '9007199254740993', '9007199254740992');
    fc.assert(
      fc.property(
        fc.option(fc.record({ lines: amount, header: amount })),
        fc.option(fc.integer({ min: -100, max: 100 })),
        fc.nat(100),
        fc.nat(60),
        (totals, ageSeconds, seenSeconds, settleSeconds) => {
          const answer = orderReadiness(input({ totals, ageSeconds, seenSeconds, settleSeconds }));
          if (totals) expect(answer.ready).to.equal(totals.lines === totals.header);
          if (seenSeconds >= settleSeconds) expect('wait' in answer && answer.wait).to.equal(false);
          if (!answer.ready && !answer.wait) expect(totals).to.not.equal(null);
        },
      ),
    );
  });
});
