import { expect } from 'chai';
import fc from 'fast-check';
import { readRateLimit } from '../../../src/service/rate-limit/rate-limit-headers.js';

const now = Date.UTC(2026, 5, 1, 12);
const inAMinute = Math.floor(now / 1000) + 60;

describe('what a service says of its limit', () => {
  const cases: [string, Record<string, string>, ReturnType<typeof readRateLimit>][] = [
    ['nothing', {}, null],
    ['RateLimit', { ratelimit: '"default";r=50;t=30' }, { remaining: 50, resetMs: 30_000, policies: [] }],
    [
      'RateLimit of two policies: the one nearest to its end',
      { ratelimit: '"minute";r=50;t=30, "day";r=3;t=4000' },
      { remaining: 3, resetMs: 4_000_000, policies: [] },
    ],
    [
      'RateLimit-Policy',
      { 'ratelimit-policy': '"burst";q=100;w=60,"daily";q=1000;w=86400' },
      {
        remaining: null,
        resetMs: null,
        policies: [
          { requests: 100, windowMs: 60_000 },
          { requests: 1000, windowMs: 86_400_000 },
        ],
      },
    ],
    [
      'RateLimit-Policy of the earlier drafts',
      { 'ratelimit-policy': '10;w=1, 50;w=60' },
      {
        remaining: null,
        resetMs: null,
        policies: [
          { requests: 10, windowMs: 1_000 },
          { requests: 50, windowMs: 60_000 },
        ],
      },
    ],
    ['RateLimit-Policy of a window longer than a day', { 'ratelimit-policy': '1;w=999999999999' }, null],
    [
      'three headers of the earlier drafts',
      { 'ratelimit-limit': '100', 'ratelimit-remaining': '7', 'ratelimit-reset': '12' },
      { remaining: 7, resetMs: 12_000, policies: [] },
    ],
    [
      'X-RateLimit-* with seconds',
      { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '2' },
      { remaining: 0, resetMs: 2_000, policies: [] },
    ],
    [
      'X-RateLimit-* with Unix time',
      { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(inAMinute) },
      { remaining: 0, resetMs: 60_000, policies: [] },
    ],
    [
      'X-RateLimit-* with Unix time in milliseconds',
      { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(inAMinute * 1000) },
      { remaining: 0, resetMs: 60_000, policies: [] },
    ],
    [
      'a reset in the past',
      { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(inAMinute - 3_600) },
      { remaining: 0, resetMs: 0, policies: [] },
    ],
    [
      'an absurd reset: a day at most',
      { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(inAMinute * 3) },
      { remaining: 0, resetMs: 86_400_000, policies: [] },
    ],
    ['no reset', { 'x-ratelimit-remaining': '4' }, { remaining: 4, resetMs: null, policies: [] }],
    ['junk', { ratelimit: 'plenty', 'x-ratelimit-remaining': '-3', 'x-ratelimit-reset': 'soon' }, null],
  ];
  for (const [name, headers, expected] of cases)
    it(`is read from ${name}`, () => expect(readRateLimit(headers, now)).to.deep.equal(expected));

  it('never throws, and never makes a wait out of nonsense', () => {
    const names = [
      'ratelimit',
      'ratelimit-policy',
      'ratelimit-remaining',
      'ratelimit-reset',
      'x-ratelimit-remaining',
      'x-ratelimit-reset',
    ];
    const value = fc.oneof(fc.string(), fc.stringMatching(/^["a-z]{0,5};?[rtqw=;,0-9]{0,12}$/), fc.nat().map(String));
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...names), value), (headers) => {
        const advice = readRateLimit(headers, now);
        if (advice?.resetMs != null) expect(advice.resetMs).to.be.within(0, 86_400_000);
        if (advice?.remaining != null) expect(advice.remaining).to.be.at.least(0);
      }),
      { numRuns: 1_000 },
    );
  });
});
