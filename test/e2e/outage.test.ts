import { expect } from 'chai';
import { outage } from '../../bench/outage.js';

describe('an outage with real processes', function () {
  this.timeout(300_000);

  it('of 12 seconds with a kill in between parks nothing, is probed at its pace, and is over soon after the return', async () => {
    const result = await outage({ how: '502', seconds: 12, orders: 300, probeSeconds: 1 });
    expect(result).to.include({ parked: 0, orders: 300, duplicates: 0 });
    // One a second at most. The second half has few or none: the restarted daemon waits for the lease of the one that
    // was killed. That is at least every other second of the first half.
    expect(result.probes).to.be.within(Math.floor(result.downSeconds / 4), Math.floor(result.downSeconds) + 1);
    // Its turn is granted by the monotonic clock, and stamped by the wall clock a moment later.
    expect(result.shortestGapSeconds).to.be.at.least(0.98);
    expect(result.firstDeliverySeconds).to.be.below(10);
  });
});
