import { expect } from 'chai';
import { answersSettings } from '../../src/config/sections/service-answers.js';
import { blockedMs } from '../../src/service/judge.js';

const nowMs = Date.UTC(2026, 5, 1, 12);

describe('being shut out for a while', () => {
  const answers = answersSettings.parse({
    blocked: [
      { status: 400, code: 'banned' },
      { status: 503, pattern: 'blocked' },
    ],
  });
  const wait = (status: number, retryAfter?: string, code: string | null = null, body = '') => {
    const headers: Record<string, string> = retryAfter === undefined ? {} : { 'retry-after': retryAfter };
    return blockedMs({ answers, blockedSeconds: 600 }, { status, headers, code, searched: body }, nowMs);
  };

  it('is a 403 that says when to come back', () => {
    expect(wait(403, '7200')).to.equal(7_200_000);
    expect(wait(403, 'Mon, 01 Jun 2026 13:00:00 GMT')).to.equal(3_600_000);
  });

  it('is no 403 without a time: that is a lack of permission, and has no end', () => {
    for (const header of [undefined, '', '0', 'Mon, 01 Jun 2026 11:00:00 GMT'])
      expect(wait(403, header)).to.equal(null);
  });

  it('is a 403 with a time that nobody can read, for the configured time', () => {
    for (const header of ['soon', 'try in 5', '-5']) expect(wait(403, header)).to.equal(600_000);
  });

  it('is what the profile names, for the time that it says, or for the one that is configured', () => {
    expect(wait(400, '60', 'banned')).to.equal(60_000);
    for (const header of [undefined, '0', 'soon']) expect(wait(400, header, 'banned')).to.equal(600_000);
    expect(wait(503, undefined, null, 'You are BLOCKED.')).to.equal(600_000);
  });

  it('is nothing else', () => {
    expect(wait(400, '60', 'other')).to.equal(null);
    expect(wait(429, '60')).to.equal(null);
    expect(wait(503, '60', null, 'down')).to.equal(null);
  });
});
