import { expect } from 'chai';
import { outage } from '../../bench/outage.js';

describe('an outage with real processes', function () {
  this.timeout(300_000);

  it('of 12 seconds with a kill in between parks nothing, is probed at its pace, and is over soon after the return', async () => {
    const result = await outage({ how: '502', seconds: 12, orders: 300, probeSeconds: 1 });
    expect(result).to.include({ parked: 0, orders: 300, duplicates: 0 });
    expect(result.probes).to.be.within(4, 12);
    expect(result.shortestGapSeconds).to.be.at.least(1);
    expect(result.firstDeliverySeconds).to.be.below(10);
  });
});
