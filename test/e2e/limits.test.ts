import { expect } from 'chai';
import { limitUse, utilisation } from '../../bench/limits.js';

describe('how much of a limit is used', function () {
  this.timeout(300_000);

  // The long form, each limit for 20 s and more: npm run bench -- limits
  it('is most of it, and no answer is 429', async () => {
    const result = await limitUse({ requests: 20, perSeconds: 1 }, [0, 20], 2);
    expect(result).to.include({ limit: '20/s', throttled: 0 });
    expect(result.delayMs).to.deep.equal([0, 20]);
    // A machine under load may take its time; what the service would not have taken is impossible.
    expect(result.utilisation).to.be.within(0.4, 1);
  });

  it('is measured from the first request to the first that belongs to the next window', () => {
    const limit = { requests: 2, perSeconds: 1 };
    expect(utilisation([0, 1, 1_000, 1_001, 2_000], limit, 2)).to.equal(1);
    expect(utilisation([0, 500, 1_100, 1_600, 2_200], limit, 2)).to.be.closeTo(1 / 1.1, 1e-9);
  });

  it('gains nothing by a burst at the end, and is nothing where too few requests came', () => {
    const limit = { requests: 10, perSeconds: 1 };
    const burst = (at: number) => Array.from({ length: 10 }, (_, i) => at + i);
    expect(utilisation([...burst(0), ...burst(1_250)], limit, 1)).to.equal(0.8);
    expect(utilisation(burst(0), limit, 1)).to.equal(0);
  });
});
