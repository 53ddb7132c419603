import { expect } from 'chai';
import { isFullScanDue } from '../../../src/outbound/capture/full-scan-due.js';

describe('a full scan', () => {
  const dueAfter = (elapsedMs: number) => isFullScanDue(1_000_000, 1_000_000 + elapsedMs, 60);

  it('is due at first, and again after capture.sweepMinutes', () => {
    expect(isFullScanDue(null, 1_000_000, 60)).to.equal(true);
    expect([0, 3_599_999, 3_600_000].map(dueAfter)).to.deep.equal([false, false, true]);
  });

  it('is due where the clock was set back behind the last one', () => {
    expect(dueAfter(-1)).to.equal(true);
  });
});
