import { expect } from 'chai';
import { compareUnderLoad } from '../../bench/reconcile.js';
import { isFullMatrix } from '../store/stores.js';

describe('a comparison of both sides in a daemon that delivers meanwhile', function () {
  this.timeout(300_000);
  // A measurement: reconcile.test.ts proves what a comparison does when it is killed.
  if (!isFullMatrix) return;

  // The long form, 100,000 orders and ten kills: npm run bench -- reconcile
  it('leaves the limit to delivery, survives kills, and finds what an undisturbed one finds', async () => {
    const result = await compareUnderLoad({ orders: 300, differing: 30, limit: 50, waiting: 100, kills: 3 });
    expect(result.unequal).to.deep.equal([]);
    expect(result).to.include({ found: 30, kills: 3, throttled: 0, duplicates: 0 });
    expect(result.deliveryShare).to.be.at.least(0.95);
    expect(Math.max(result.daemonPeakMiB, result.commandPeakMiB)).to.be.below(200);
    expect(new Set(result.killedAt).size).to.be.above(1);
  });
});
