import { expect } from 'chai';
import { expiryOf, retryWaitMs } from '../../../src/service/credential/oauth-credential.js';

describe('the life of an access token', () => {
  it('ends before the one who gave it says, and its successor is fetched before that', () => {
    expect(expiryOf(3_600_000, 1_000, 60_000)).to.deep.equal({ renewAtMs: 3_541_000, expiresAtMs: 3_599_000 });
  });

  it('of one that lives shortly is renewed at its half, however long before is configured', () => {
    expect(expiryOf(20_000, 0, 60_000)).to.deep.equal({ renewAtMs: 10_000, expiresAtMs: 18_000 });
  });

  it('is five seconds at least, so that one that is said to live no time is not fetched without end', () => {
    expect(expiryOf(0, 0, 60_000).expiresAtMs).to.equal(5_000);
  });

  it('has no end where nobody says one', () => {
    expect(expiryOf(null, 5, 60_000)).to.deep.equal({ renewAtMs: null, expiresAtMs: null });
  });
});

describe('the wait after a token was not to be had', () => {
  it('doubles from a second to a minute, with some chance', () => {
    const waits = [1, 2, 3, 4, 5, 6, 7, 20].map((failures) => retryWaitMs('unavailable', failures, 1));
    expect(waits).to.deep.equal([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
    expect(retryWaitMs('unavailable', 3, 0)).to.equal(2_000);
  });

  it('is short after a refusal: a pause stops all requests then, and its end must not meet another wait', () => {
    expect(retryWaitMs('refused', 9, 0.5)).to.equal(1_000);
  });
});
