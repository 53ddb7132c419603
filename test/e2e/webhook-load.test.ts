import { expect } from 'chai';
import { webhooks } from '../../bench/webhooks.js';

describe('Delivery while webhooks come in', function () {
  this.timeout(300_000);

  // The long form, 1,000 a second for 20 s beside 50/s: npm run bench -- webhooks
  it('goes on within its limit, and every valid one is stored', async () => {
    const result = await webhooks({ perSecond: 200, seconds: 1, limit: 20 });
    expect(result.sent).to.equal(800);
    expect(result.answers).to.deep.equal({ 204: 4, 401: 788, 415: 8 });
    expect(result).to.include({ valid: 4, stored: 4, throttled: 0 });
    // A machine under load may take its time; what the service would not have taken is impossible.
    expect(result.utilisation).to.be.within(0.4, 1);
  });
});
