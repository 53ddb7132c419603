import { expect } from 'chai';
import fc from 'fast-check';
import { retryAfterMs } from '../../../src/service/rate-limit/rate-limit-headers.js';

const nowMs = Date.UTC(2026, 5, 1, 12);
const day = 86_400_000;

describe('Retry-After', () => {
  const cases: [string, string | undefined, number | null][] = [
    ['seconds', '120', 120_000],
    ['seconds with blanks', ' 5 ', 5_000],
    ['no wait', '0', 0],
    ['a date', 'Mon, 01 Jun 2026 12:00:30 GMT', 30_000],
    ['a date in the form of RFC 850', 'Monday, 01-Jun-26 12:00:30 GMT', 30_000],
    ['a date in the form of asctime, which is in GMT', 'Mon Jun  1 12:00:30 2026', 30_000],
    ['a date in ISO form', '2026-06-01T14:00:30+02:00', 30_000],
    ['a date in the past', 'Mon, 01 Jun 2026 11:00:00 GMT', 0],
    ['a date far away', 'Tue, 01 Jun 2027 12:00:00 GMT', day],
    ['a day', '86400', day],
    ['years', '999999999', day],
    ['more digits than a number holds', '9'.repeat(400), null],
    ['digits that are a time in no unit', '9'.repeat(20), null],
    ['Unix time of years ahead', String(nowMs / 1000 + 3 * 366 * 86_400), null],
    ['nothing', undefined, null],
    ['an empty text', '', null],
    ['a word', 'soon', null],
    // V8's Date.parse takes these for days of 2001: the past, and so no wait at all.
    ['a word and a figure', 'soon 5', null],
    ['words with a unit', 'try again in 30 seconds', null],
    ['a fraction', '1.5', 1_500],
    ['a whole number as a fraction', '7.0', 7_000],
    ['seconds with their unit', '120s', 120_000],
    ['seconds in quotes', '"120"', 120_000],
    ['Unix time', String(nowMs / 1000 + 3), 3_000],
    ['Unix time in milliseconds', String(nowMs + 3_000), 3_000],
    ['Unix time in the past', String(nowMs / 1000 - 3), 0],
    ['a date of RFC 2822', 'Mon, 01 Jun 2026 14:00:30 +0200', 30_000],
    ['a date in UTC', 'Mon, 1 Jun 2026 12:00:30 UTC', 30_000],
    ['a date in ISO form with an offset without a colon', '2026-06-01T12:00:30.000+0000', 30_000],
    ['a date in ISO form with a blank', '2026-06-01 12:00:30Z', 30_000],
    ['a date in quotes', '"Mon, 01 Jun 2026 12:00:30 GMT"', 30_000],
    ['a negative', '-5', null],
    ['an exponent', '1e3', null],
    ['a date that is none', 'Mon, 99 Jun 2026 12:00:30 GMT', null],
    ['two values: the first', '5, 10', 5_000],
  ];
  for (const [title, header, expected] of cases) {
    it(`${title}: ${expected} ms`, () => {
      expect(retryAfterMs(header, nowMs)).to.equal(expected);
    });
  }

  it('does not depend on the time zone of the machine', () => {
    const zone = process.env.TZ;
    try {
      for (const TZ of ['America/New_York', 'Asia/Kolkata']) {
        process.env.TZ = TZ;
        expect(retryAfterMs('Mon Jun  1 12:00:30 2026', nowMs)).to.equal(30_000);
      }
    } finally {
      if (zone === undefined) delete process.env.TZ;
      else process.env.TZ = zone;
    }
  });

  it('is between nothing and a day, or unknown, for any text', () => {
    const text = fc.oneof(
      fc.string(),
      fc.nat().map(String),
      fc.date({ noInvalidDate: true }).map((d) => d.toUTCString()),
    );
    fc.assert(
      fc.property(text, (header) => {
        const wait = retryAfterMs(header, nowMs);
        if (wait !== null) expect(wait).to.be.within(0, day);
      }),
      { numRuns: 2_000 },
    );
  });
});
