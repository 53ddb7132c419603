import { expect } from 'chai';
import { rate } from '../../bench/rate.js';

describe('Delivery under a sliding-window limit', function () {
  this.timeout(300_000);

  // The long form, 2,000 orders and the share of the limit that is used: npm run bench -- rate
  it('never has more requests at the service in any window than it allows, so that nothing is answered 429', async () => {
    const result = await rate({ orders: 200, requestsPerSecond: 50, maxDelayMs: 20 });
    expect(result.orders).to.equal(200);
    expect(result.busiestWindow).to.be.at.most(50);
    expect(result.throttled).to.equal(0);
    expect(result.duplicates).to.equal(0);
  });
});
