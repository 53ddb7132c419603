import { expect } from 'chai';
import fc from 'fast-check';
import { serviceSettings } from '../../src/config/sections/service.js';
import { EndpointWatch, readLifecycle } from '../../src/service/endpoint-lifecycle.js';

const at = Date.UTC(2026, 11, 31, 23, 59, 59);
const written = 'Thu, 31 Dec 2026 23:59:59 GMT';

describe('what Deprecation and Sunset say', () => {
  const cases: [string, Record<string, string>, ReturnType<typeof readLifecycle>][] = [
    ['nothing', {}, null],
    ['a structured date', { deprecation: `@${at / 1000}` }, { deprecatedAt: at, sunsetAt: null }],
    ['a structured date with parameters', { deprecation: `@${at / 1000};a=1` }, { deprecatedAt: at, sunsetAt: null }],
    [
      'two of them, of which the first counts',
      { deprecation: `@${at / 1000}, @1` },
      { deprecatedAt: at, sunsetAt: null },
    ],
    ['an HTTP date', { deprecation: written }, { deprecatedAt: at, sunsetAt: null }],
    ['true', { deprecation: ' True ' }, { deprecatedAt: true, sunsetAt: null }],
    ['a structured true', { deprecation: '?1' }, { deprecatedAt: true, sunsetAt: null }],
    ['false', { deprecation: 'false' }, null],
    ['a sunset', { sunset: written }, { deprecatedAt: null, sunsetAt: at }],
    ['a sunset in an older form', { sunset: 'Thursday, 31-Dec-26 23:59:59 GMT' }, { deprecatedAt: null, sunsetAt: at }],
    ['a sunset as a structured date', { sunset: `@${at / 1000}` }, { deprecatedAt: null, sunsetAt: at }],
    ['both', { deprecation: '@0', sunset: written }, { deprecatedAt: 0, sunsetAt: at }],
    ['junk beside a date', { deprecation: 'soon', sunset: written }, { deprecatedAt: null, sunsetAt: at }],
    ['junk', { deprecation: '@', sunset: '2026' }, null],
    ['a date before 1970', { deprecation: '@-5' }, null],
    ['a date that no calendar has', { deprecation: '@999999999999' }, null],
  ];
  for (const [title, headers, expected] of cases)
    it(`is read from ${title}`, () => expect(readLifecycle(headers)).to.deep.equal(expected));

  it('never throws, and gives only dates that can be shown', () => {
    const value = fc.oneof(
      fc.string(),
      fc.integer().map((seconds) => `@${seconds}`),
      fc.date({ noInvalidDate: true }).map((date) => date.toUTCString()),
    );
    fc.assert(
      fc.property(value, value, (deprecation, sunset) => {
        const read = readLifecycle({ deprecation, sunset });
        for (const ms of [read?.deprecatedAt, read?.sunsetAt])
          if (typeof ms === 'number') expect(new Date(ms).toISOString()).to.match(/^\d{4}-/);
      }),
      { numRuns: 3_000 },
    );
  });
});

describe('the end of an endpoint', () => {
  it('is passed on once, and when it changes with every answer once a day', () => {
    const { endpoints } = serviceSettings.parse({ environment: 'sandbox', baseUrl: 'https://sandbox.example.com' });
    const told: string[] = [];
    let now = 1_800_000_000_000;
    const watch = new EndpointWatch(
      endpoints,
      ({ endpoint, lifecycle }) => told.push(`${endpoint} ${lifecycle.sunsetAt}`),
      () => now,
    );
    for (let i = 0; i < 50; i++) watch.heed('createOrder', { sunset: `@${1_900_000_000 + (i % 2)}` });
    expect(told).to.deep.equal(['createOrder 1900000000000']);
    watch.heed('updateOrder', { sunset: '@1900000000' });
    expect(told).to.have.length(2);
    now += 86_400_000;
    watch.heed('createOrder', { sunset: '@1900000000' });
    expect(told, 'nothing new').to.have.length(2);
    watch.heed('createOrder', { sunset: '@1900000001' });
    watch.heed('createOrder', { sunset: '@1900000000' });
    expect(told.slice(2)).to.deep.equal(['createOrder 1900000001000']);
  });
});
